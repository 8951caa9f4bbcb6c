// Loaded once while the snapshot is made: closes the global object over the sandbox, and starts each run.

import { fail, freeze, json, progress, random, settle } from 'keelbox:host';
import 'system/http';
import 'system/agent';
import 'system/log';
import 'system/tools';
import {
  Error, ObjectDefineProperty, ObjectGetOwnPropertyDescriptor, ObjectKeys, ReflectApply, String, StringPrototypeSlice, defineHidden,
  isObject, ownValue, protectPromise,
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

const stackOf = ObjectGetOwnPropertyDescriptor(Error.prototype, 'stack')?.get;

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
  const stack = attempt(() => {
    const own = ownValue(error, 'stack');
    return short(own ?? (stackOf === undefined ? error.stack : ReflectApply(stackOf, error, [])) ?? '');
  }, '');
  fail(failure, name, message + code, stack);
};

const deepFreeze = (value) => {
  if (typeof value !== 'object' || value === null) return value;
  const keys = ObjectKeys(value);
  for (let i = 0; i < keys.length; i++) deepFreeze(value[keys[i]]);
  return freeze(value);
};

const provide = (name, value) => {
  ObjectDefineProperty(global, name, { __proto__: null, value, writable: false, enumerable: true, configurable: false });
};

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
    settle(await exec(call.input, call.ambient, call.context), dictionary, session);
  } catch (error) {
    describe(FAIL_THREW, error);
  }
};

/** Puts the call's data in place before the first module of the tool is evaluated. */
export const prepare = (call) => {
  provide('toolOptions', call.toolOptions);
  provide('flowContext', call.flowContext);
  provide('dictionary', call.dictionary);
  provide('session', call.session);
  deepFreeze(call.ambient);
  call.context = freeze({ progress: (data) => progress(json(data, PROGRESS_BYTES)), signal: newAbortSignal() });
};
