// One op, from the script's call to its answer: what system/http and system/agent share.

import { json, op, refused } from 'keelbox:host';
import { Error, ObjectDefineProperty, StringPrototypeSlice, isObject, ownValue, protectPromise } from './web/primordials.js';

export const TEXT = 0;
export const JSON_BODY = 1;
export const BYTES = 2;

const SHOWN_CHARACTERS = 2048;
const METHOD_CHARACTERS = 32;
const KINDS = { __proto__: null, http: 1, agent: 2 };
const { captureStackTrace } = Error;

// What the guest refuses by itself; the host never hears of these requests but through `refused`.
const REFUSALS = ['', 'ended', 'too-many-requests', 'request-too-large'];
const MESSAGES = {
  __proto__: null,
  ended: 'exec has returned: a request can no longer be made',
  'buffer-busy': 'another request of this run is in flight: await one call before the next',
  'too-many-requests': 'this run has made as many requests as it may (requests_count)',
  'request-too-large': 'the body is larger than the exchange buffer (buffer_mib), or URL and headers are larger than 128 KiB',
};

/** The stack of the script's call, for an error that shows up after it: `self` and what it called are left out. */
export const traceHere = (self) => {
  const trace = { __proto__: null };
  captureStackTrace(trace, self);
  return trace;
};

/** Gives an error a code, and the stack of the call that it belongs to. */
export const coded = (error, code, trace) => {
  ObjectDefineProperty(error, 'code', { __proto__: null, value: code, enumerable: true, configurable: true });
  if (trace !== undefined) {
    ObjectDefineProperty(error, 'stack', { __proto__: null, value: trace.stack, writable: true, configurable: true });
  }
  return error;
};

/**
 * Hands one op to the host and waits for its answer `{...head, ok, body}`.
 * Throws what `newError(message)` makes, with `code` and the caller's stack. `shown` is {method, url} for the record of refused ops; an http head has both.
 */
export const perform = async (kind, mode, head, body, trace, newError, shown = head) => {
  const failure = (code, message) => {
    if (message === undefined) { // the host always gives one: what has none was refused in here
      refused(kind, StringPrototypeSlice(shown.method, 0, METHOD_CHARACTERS), StringPrototypeSlice(shown.url, 0, SHOWN_CHARACTERS), code);
      message = MESSAGES[code];
    }
    return coded(newError(message), code, trace);
  };
  const promise = op(KINDS[kind], mode, json(head, -1), body);
  if (typeof promise === 'number') throw failure(REFUSALS[promise]);
  try {
    return await protectPromise(promise);
  } catch (cause) {
    const code = isObject(cause) ? ownValue(cause, 'code') : undefined;
    if (typeof code !== 'string') throw cause; // out of memory while the answer was read
    throw failure(code, ownValue(cause, 'message'));
  }
};
