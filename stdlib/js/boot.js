// Loaded once while the snapshot is made: closes the global object over the sandbox, and starts each run.

import { fail, freeze, json, progress, random, settle } from 'keelbox:host';
import 'system/http';
import 'system/agent';
import 'system/log';
import 'system/tools';
import {
  ObjectDefineProperty, ObjectKeys, String, StringPrototypeSlice, defineHidden, errorStack, isObject, protectPromise,
} from './web/primordials.js';
import { AbortController, AbortSignal, newAbortSignal } from './web/abort.js';
import { URLSearchParams } from './web/search-params.js';
import { structuredClone } from './web/structured-clone.js';
import { TextDecoder, TextEncoder } from './web/text-codec.js';
import { URL } from './web/url.js';

const FAIL_THREW = 1;
const FAIL_NO_EXEC = 3;
const PROGRESS_BYTES = 4096;
const REPORT_CHARACTERS = 8192;
const global = globalThis;

// No shared memory and no waiting on it: with them a script could build a fine clock (SECURITY R18).
delete global.SharedArrayBuffer;
delete global.Atomics;
// The engine's own generator is seeded when the snapshot is made; the host seeds this one in each run.
defineHidden(global.Math, { random });
defineHidden(global, {
  AbortController, AbortSignal, TextDecoder, TextEncoder, URL, URLSearchParams, structuredClone,
});

// A template literal is compiled to a call of this method.
ObjectDefineProperty(global.String.prototype, 'concat', { __proto__: null, writable: false, configurable: false });
// With it a script would be given the stdlib's own functions.
delete global.Error.prepareStackTrace;

const short = (value) => {
  const text = String(value);
  return text.length > REPORT_CHARACTERS ? `${StringPrototypeSlice(text, 0, REPORT_CHARACTERS)} …` : text;
};

const attempt = (read, otherwise) => {
  try {
    return read();
  } catch {
    return otherwise;
  }
};

/** Reports what was thrown, whatever it is: an error whose fields throw, a text, null. */
export const describe = (failure, error) => {
  const unreadable = '(an error that could not be read)';
  if (!isObject(error)) {
    fail(failure, 'Error', attempt(() => `${short(error)} (thrown as a ${error === null ? 'null' : typeof error}, not an Error)`, unreadable), '');
    return;
  }
  const name = attempt(() => short(error.name), 'Error');
  const code = attempt(() => (typeof error.code === 'string' ? ` [${short(error.code)}]` : ''), '');
  const message = attempt(() => short(error.message), unreadable);
  const stack = attempt(() => short(errorStack(error) ?? ''), '');
  fail(failure, name, message + code, stack);
};

/** Freezes a JSON value through and through. */
export const deepFreeze = (value) => {
  if (typeof value !== 'object' || value === null) return value;
  const keys = ObjectKeys(value);
  for (let i = 0; i < keys.length; i++) deepFreeze(value[keys[i]]);
  return freeze(value);
};

// The places are made here; each run fills them in (guest.c), so that the global object need not grow in a run.
for (const name of ['toolOptions', 'flowContext', 'dictionary', 'session']) {
  ObjectDefineProperty(global, name, { __proto__: null, value: undefined, enumerable: true, configurable: true });
}

let signal;
const context = freeze({
  progress: (data) => progress(json(data, PROGRESS_BYTES)),
  get signal() {
    signal ??= newAbortSignal(); // most scripts never look at it
    return signal;
  },
});

/** One run: waits for the modules, calls exec, and reports how it ended. */
export const main = async (evaluated, namespace, call) => {
  const { dictionary, session } = call;
  try {
    await protectPromise(evaluated);
    const { exec } = namespace;
    if (typeof exec !== 'function') {
      fail(FAIL_NO_EXEC, 'Error', exec === undefined ? 'the entry module does not export exec' : `exec is a ${typeof exec}, not a function`, '');
      return;
    }
    settle(await exec(call.input, call.ambient, context), dictionary, session);
  } catch (error) {
    describe(FAIL_THREW, error);
  }
};
