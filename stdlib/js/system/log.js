// system/log: the author's window in production. Never throws: a log line must not break a tool.

import { freeze, json, log } from 'keelbox:host';
import {
  Error, FunctionPrototypeHasInstance, String, StringPrototypeIndexOf, StringPrototypeSlice, errorStack, isObject,
} from '../web/primordials.js';

const VALUE_BYTES = 65536;

// The last frame is the one of ours that called exec.
const withoutOurs = (stack) => {
  if (typeof stack !== 'string') return '';
  const end = StringPrototypeIndexOf(stack, '\n    at main (keelbox:');
  return end < 0 ? stack : StringPrototypeSlice(stack, 0, end);
};

/** JSON, cut where it is long (never written out whole: there may be no memory for it); of what is not JSON its own text, and why. */
const asJson = (value) => {
  try {
    return json(value, VALUE_BYTES, true);
  } catch (error) {
    return `${String(value)} (${error.message})`;
  }
};

const written = (value) => {
  if (typeof value === 'string') return value;
  try {
    if (FunctionPrototypeHasInstance(Error, value)) {
      const stack = withoutOurs(errorStack(value));
      return `${value.name}: ${value.message}${stack !== '' ? `\n${stack}` : ''}`;
    }
    if (isObject(value) && typeof value !== 'function') return asJson(value);
    return String(value);
  } catch {
    return '(a value that cannot be written)';
  }
};

const line = (level, values) => {
  let text = '';
  for (let i = 0; i < values.length; i++) text += i === 0 ? written(values[i]) : ` ${written(values[i])}`;
  log(level, text);
};

export const error = (...values) => line(0, values);
export const warning = (...values) => line(1, values);
export const info = (...values) => line(2, values);
export const debug = (...values) => line(3, values);

export default freeze({ error, warning, info, debug });
