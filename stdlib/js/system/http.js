// system/http: the one way out of the sandbox. The contract is ../system.d.ts; the host's twin is host/keelbox/ops/http.py.

import { freeze, json } from 'keelbox:host';
import { BYTES, JSON_BODY, TEXT, coded, perform, traceHere } from '../op.js';
import {
  ArrayIsArray, Error, NumberIsFinite, ObjectGetPrototypeOf, ObjectKeys, ObjectPrototype, String, StringPrototypeIncludes,
  StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeToLowerCase, StringPrototypeToUpperCase, TypeError, bytesOf,
  defineHidden, encodeURIComponent, isObject, protectPromise,
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

const isPlain = (value) => {
  if (typeof value !== 'object' || value === null) return false;
  const proto = ObjectGetPrototypeOf(value);
  return proto === null || proto === ObjectPrototype;
};

const addQuery = (url, query) => {
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

const addHeaders = (headers, given) => {
  if (!isPlain(given)) throw new TypeError('headers must be a plain object of names and values');
  const keys = ObjectKeys(given);
  for (let i = 0; i < keys.length; i++) {
    const value = given[keys[i]];
    if (value !== undefined && value !== null) headers[StringPrototypeToLowerCase(keys[i])] = String(value);
  }
};

/** Puts the caller's options into the head; gives those that say what the body is. Each option is read once. */
const applyOptions = (head, options) => {
  if (!isPlain(options)) throw new TypeError('the options must be a plain object');
  const rest = { __proto__: null, method: undefined, url: undefined, body: undefined, json: undefined };
  const keys = ObjectKeys(options);
  for (let i = 0; i < keys.length; i++) {
    const value = options[keys[i]];
    if (value === undefined) continue;
    switch (keys[i]) {
      case 'headers':
        if (value !== null) addHeaders(head.headers, value);
        break;
      case 'query':
        if (value !== null) rest.query = value;
        break;
      case 'timeoutMs':
        if (typeof value !== 'number' || !NumberIsFinite(value) || value <= 0) {
          throw new TypeError('timeoutMs must be a positive number of milliseconds');
        }
        head.timeoutMs = value;
        break;
      case 'method':
      case 'url':
        if (head.method !== undefined) throw new TypeError(`the option '${keys[i]}' is for request() only`);
        rest[keys[i]] = value;
        break;
      case 'body':
      case 'json':
        if (head.method === 'GET' || head.method === 'HEAD') throw new TypeError(`a ${head.method} request has no body`);
        rest[keys[i]] = value;
        break;
      default:
        throw new TypeError(`unknown option '${keys[i]}'; there are headers, query, timeoutMs, body and json`);
    }
  }
  return rest;
};

const bodyFor = (head, body, value) => {
  const { headers } = head;
  if (value !== undefined) {
    if (body !== undefined) throw new TypeError('give either body or json, not both');
    headers['content-type'] ??= 'application/json';
    return json(value, -1);
  }
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') {
    headers['content-type'] ??= 'text/plain;charset=UTF-8';
    return body;
  }
  const bytes = bytesOf(body);
  if (bytes === null) throw new TypeError('body must be a string, a Uint8Array or an ArrayBuffer; for a JSON value use json');
  headers['content-type'] ??= 'application/octet-stream';
  return bytes;
};

/** Builds the head and body of one request, hands them over, and waits. `trace` holds the script's stack of now. */
const send = async (mode, method, url, options, body, value, trace) => {
  const head = { __proto__: null, method, url, headers: { __proto__: null }, timeoutMs: null };
  let query;
  if (options !== undefined && options !== null) {
    const rest = applyOptions(head, options);
    query = rest.query;
    body ??= rest.body;
    value ??= rest.json;
    if (method === undefined) {
      head.method = rest.method ?? 'GET';
      head.url = rest.url;
    }
  }
  if (typeof head.method !== 'string') throw new TypeError('method must be a string');
  if (typeof head.url !== 'string') {
    if (!isObject(head.url)) throw new TypeError('url must be a string or a URL');
    head.url = String(head.url);
  }
  head.method = StringPrototypeToUpperCase(head.method);
  if (query !== undefined) head.url = addQuery(head.url, query);
  return await protectPromise(perform('http', mode, head, bodyFor(head, body, value), trace, newError)); // not left to `then`
};

const start = (self, mode, method, url, options, body, value) =>
  protectPromise(send(mode, method, url, options, body, value, traceHere(self)));

/** A body argument: text and bytes are sent as they are, anything else as JSON. */
const withBody = (self, method, url, body, options) =>
  body === undefined || body === null || typeof body === 'string' || bytesOf(body) !== null
    ? start(self, TEXT, method, url, options, body)
    : start(self, TEXT, method, url, options, undefined, body);

export const request = (options) => start(request, TEXT, undefined, undefined, options ?? {});
export const get = (url, options) => start(get, TEXT, 'GET', url, options);
export const head = (url, options) => start(head, TEXT, 'HEAD', url, options);
export const post = (url, body, options) => withBody(post, 'POST', url, body, options);
export const put = (url, body, options) => withBody(put, 'PUT', url, body, options);
export const patch = (url, body, options) => withBody(patch, 'PATCH', url, body, options);
export const del = (url, options) => start(del, TEXT, 'DELETE', url, options);
export const getText = (url, options) => start(getText, TEXT, 'GET', url, options);
export const getBytes = (url, options) => start(getBytes, BYTES, 'GET', url, options);
export const getJson = (url, options) => start(getJson, JSON_BODY, 'GET', url, options);
export const postJson = (url, value, options) =>
  start(postJson, JSON_BODY, 'POST', url, options, undefined, value === undefined ? null : value);

export default freeze({ request, get, head, post, put, patch, del, getText, getBytes, getJson, postJson, HttpError });
