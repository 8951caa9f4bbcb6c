// system/http: the one way out of the sandbox. The contract is ../system.d.ts; the host's twin is host/keelbox/ops/http.py.

import { freeze, json } from 'keelbox:host';
import { BYTES, JSON_BODY, TEXT, coded, perform, traceHere } from '../op.js';
import {
  ArrayBufferIsView, ArrayBufferPrototypeGetByteLength, ArrayIsArray, DataViewPrototypeGetBuffer, DataViewPrototypeGetByteLength,
  DataViewPrototypeGetByteOffset, Error, NumberIsFinite, ObjectGetPrototypeOf, ObjectKeys, ObjectPrototype,
  String, StringPrototypeIncludes, StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeToLowerCase,
  StringPrototypeToUpperCase, TypeError, TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeGetByteOffset, Uint8Array, defineHidden, encodeURIComponent, isBranded, isObject, ownValue,
  protectPromise,
} from '../web/primordials.js';

/** A request that got no answer. `code` says why; the list is in system.d.ts. */
export class HttpError extends Error {
  constructor(code, message) {
    super(message);
    coded(this, code);
  }
}
defineHidden(HttpError.prototype, { name: 'HttpError' });
freeze(HttpError.prototype);
freeze(HttpError);

const newError = (message) => new HttpError('', message); // perform sets the code

const bytesOf = (body) => {
  if (isBranded(ArrayBufferPrototypeGetByteLength, body)) return new Uint8Array(body);
  if (isBranded(DataViewPrototypeGetByteLength, body)) {
    return new Uint8Array(DataViewPrototypeGetBuffer(body), DataViewPrototypeGetByteOffset(body), DataViewPrototypeGetByteLength(body));
  }
  return new Uint8Array(
    TypedArrayPrototypeGetBuffer(body), TypedArrayPrototypeGetByteOffset(body), TypedArrayPrototypeGetByteLength(body));
};

const isBinary = (body) => isObject(body) && (ArrayBufferIsView(body) || isBranded(ArrayBufferPrototypeGetByteLength, body));

const isPlain = (value) => {
  if (typeof value !== 'object' || value === null) return false;
  const proto = ObjectGetPrototypeOf(value);
  return proto === null || proto === ObjectPrototype;
};

const withQuery = (url, query) => {
  if (query === undefined || query === null) return url;
  if (!isPlain(query)) throw new TypeError('query must be a plain object of names and values');
  const hash = StringPrototypeIndexOf(url, '#');
  let text = hash < 0 ? url : StringPrototypeSlice(url, 0, hash);
  const keys = ObjectKeys(query);
  let glue = StringPrototypeIncludes(text, '?') ? '&' : '?';
  const add = (name, value) => {
    if (value === undefined || value === null) return;
    text += `${glue}${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`;
    glue = '&';
  };
  for (let i = 0; i < keys.length; i++) {
    const value = query[keys[i]];
    if (ArrayIsArray(value)) for (let j = 0; j < value.length; j++) add(keys[i], value[j]);
    else add(keys[i], value);
  }
  return text;
};

const headersOf = (given) => {
  const headers = { __proto__: null };
  if (given === undefined || given === null) return headers;
  if (!isPlain(given)) throw new TypeError('headers must be a plain object of names and values');
  const keys = ObjectKeys(given);
  for (let i = 0; i < keys.length; i++) {
    const value = given[keys[i]];
    if (value === undefined || value === null) continue;
    headers[StringPrototypeToLowerCase(keys[i])] = String(value);
  }
  return headers;
};

const timeoutOf = (given) => {
  if (given === undefined || given === null) return null;
  if (typeof given !== 'number' || !NumberIsFinite(given) || given <= 0) {
    throw new TypeError('timeoutMs must be a positive number of milliseconds');
  }
  return given;
};

const OPTIONS = ['method', 'url', 'headers', 'query', 'body', 'json', 'timeoutMs'];

const checkOptions = (options) => {
  if (!isPlain(options)) throw new TypeError('the options must be a plain object');
  const keys = ObjectKeys(options);
  for (let i = 0; i < keys.length; i++) {
    let known = false;
    for (let j = 0; j < OPTIONS.length; j++) known ||= OPTIONS[j] === keys[i];
    if (!known) throw new TypeError(`unknown option '${keys[i]}'; there are headers, query, timeoutMs, body and json`);
  }
};

/** Builds the head and body of one request, hands them over, and waits. `trace` holds the script's stack of now. */
const send = async (mode, options, trace) => {
  checkOptions(options);
  const url = ownValue(options, 'url');
  const method = ownValue(options, 'method');
  if (typeof url !== 'string' && !isObject(url)) throw new TypeError('url must be a string or a URL');
  if (method !== undefined && typeof method !== 'string') throw new TypeError('method must be a string');
  const headers = headersOf(ownValue(options, 'headers'));
  let body = ownValue(options, 'body');
  const value = ownValue(options, 'json');
  if (value !== undefined) {
    if (body !== undefined) throw new TypeError('give either body or json, not both');
    body = json(value, -1);
    headers['content-type'] ??= 'application/json';
  } else if (isBinary(body)) {
    body = bytesOf(body);
    headers['content-type'] ??= 'application/octet-stream';
  } else if (typeof body === 'string') {
    headers['content-type'] ??= 'text/plain;charset=UTF-8';
  } else if (body !== undefined && body !== null) {
    throw new TypeError('body must be a string, a Uint8Array or an ArrayBuffer; for a JSON value use json');
  }
  const head = {
    __proto__: null,
    method: method === undefined ? 'GET' : StringPrototypeToUpperCase(method),
    url: withQuery(String(url), ownValue(options, 'query')),
    headers,
    timeoutMs: timeoutOf(ownValue(options, 'timeoutMs')),
  };
  return perform('http', mode, head, body ?? undefined, trace, head, newError);
};

const started = (mode, options, trace) => protectPromise(send(mode, options, trace));

const merged = (url, options, method, extra) => {
  const given = options ?? {};
  if (!isPlain(given)) return given; // refused by send
  const all = { __proto__: null };
  const keys = ObjectKeys(given);
  for (let i = 0; i < keys.length; i++) all[keys[i]] = given[keys[i]];
  if (extra !== undefined) {
    const added = ObjectKeys(extra);
    for (let i = 0; i < added.length; i++) all[added[i]] = extra[added[i]];
  }
  all.url = url;
  all.method = method;
  return all;
};

const bodyOption = (body) =>
  body === undefined || body === null ? undefined
  : typeof body === 'string' || isBinary(body) ? { __proto__: null, body } : { __proto__: null, json: body };

export const request = (options) => started(TEXT, options, traceHere(request));
export const get = (url, options) => started(TEXT, merged(url, options, 'GET'), traceHere(get));
export const head = (url, options) => started(TEXT, merged(url, options, 'HEAD'), traceHere(head));
export const post = (url, body, options) => started(TEXT, merged(url, options, 'POST', bodyOption(body)), traceHere(post));
export const put = (url, body, options) => started(TEXT, merged(url, options, 'PUT', bodyOption(body)), traceHere(put));
export const patch = (url, body, options) => started(TEXT, merged(url, options, 'PATCH', bodyOption(body)), traceHere(patch));
export const del = (url, options) => started(TEXT, merged(url, options, 'DELETE'), traceHere(del));
export const getText = (url, options) => started(TEXT, merged(url, options, 'GET'), traceHere(getText));
export const getBytes = (url, options) => started(BYTES, merged(url, options, 'GET'), traceHere(getBytes));
export const getJson = (url, options) => started(JSON_BODY, merged(url, options, 'GET'), traceHere(getJson));
export const postJson = (url, value, options) =>
  started(JSON_BODY, merged(url, options, 'POST', { __proto__: null, json: value === undefined ? null : value }), traceHere(postJson));

export default freeze({ request, get, head, post, put, patch, del, getText, getBytes, getJson, postJson, HttpError });
