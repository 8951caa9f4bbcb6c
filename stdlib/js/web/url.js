// The class URL: getters and setters over a record of url-record.js.
import { StringPrototypeSlice, StringPrototypeStartsWith, TypeError, tagClass, toText } from './primordials.js';
import { isDigits } from './host.js';
import { USERINFO, percentEncode } from './percent.js';
import { URLSearchParams, bindSearchParams, parseQuery } from './search-params.js';
import {
  authorityEnd, encodeFragment, encodeQuery, hasCredentials, hostEnd, hostText, isOpaque, isSpecial, isSpecialScheme,
  parseUrl, pathText, schemeOf, serializeUrl, setHost, setPath, setPort, withoutNewlines,
} from './url-record.js';

const SHOWN_UNITS = 200;
const quote = (text) =>
  '"' + (text.length > SHOWN_UNITS ? StringPrototypeSlice(text, 0, SHOWN_UNITS) + '…' : text) + '"';

// The record of `url` read against `base` (undefined: none), null if it is no URL.
const parse = (url, base) => {
  const text = toText(url);
  if (base === undefined) return parseUrl(text, null);
  const baseRecord = parseUrl(toText(base), null);
  return baseRecord === null ? null : parseUrl(text, baseRecord);
};

const noUrl = (url, base) => {
  const text = 'Invalid URL: ' + quote(toText(url));
  return new TypeError(base === undefined ? text : text + ' with base ' + quote(toText(base)));
};

const cannotHavePort = (record) => record.host === null || record.host === '' || record.scheme === 'file';

const leadingDigits = (text) => {
  let end = 0;
  while (end < text.length && isDigits(text[end])) end++;
  return StringPrototypeSlice(text, 0, end);
};

const changePort = (record, text) => {
  const digits = leadingDigits(text);
  if (digits !== '') setPort(record, digits);
};

// The setters `host` and `hostname`; only the first may bring a port. What does not fit is ignored, as in browsers.
const changeHost = (record, value, withPort) => {
  if (isOpaque(record)) return;
  let text = withoutNewlines(toText(value));
  text = StringPrototypeSlice(text, 0, authorityEnd(text, isSpecial(record)));
  const end = record.scheme === 'file' ? text.length : hostEnd(text);
  const hasPort = end < text.length;
  if (hasPort && (end === 0 || !withPort)) return;
  if (end === 0 && (hasCredentials(record) || record.port !== null)) return;
  if (!setHost(record, StringPrototypeSlice(text, 0, end))) return;
  if (hasPort) changePort(record, StringPrototypeSlice(text, end + 1));
};

const changeScheme = (record, value) => {
  const scheme = schemeOf(withoutNewlines(toText(value)) + ':');
  if (scheme === '' || isSpecialScheme(scheme) !== isSpecial(record)) return;
  if (scheme === 'file' && (hasCredentials(record) || record.port !== null)) return;
  if (record.scheme === 'file' && record.host === '') return;
  record.scheme = scheme;
  if (record.port !== null) setPort(record, '' + record.port);
};

// The text after a leading `mark`, without tabs and newlines.
const afterMark = (text, mark) =>
  withoutNewlines(StringPrototypeStartsWith(text, mark) ? StringPrototypeSlice(text, 1) : text);

const originOf = (record) => {
  if (record.scheme === 'blob') {
    const inner = parseUrl(pathText(record), null);
    return inner !== null && (inner.scheme === 'http' || inner.scheme === 'https') ? originOf(inner) : 'null';
  }
  return isSpecial(record) && record.scheme !== 'file' ? record.scheme + '://' + hostText(record) : 'null';
};

export class URL {
  #record;
  #params = null;

  static {
    tagClass(this, 'URL');
  }

  constructor(url, base = undefined) {
    this.#record = parse(url, base);
    if (this.#record === null) throw noUrl(url, base);
  }

  static canParse(url, base = undefined) {
    return parse(url, base) !== null;
  }

  static parse(url, base = undefined) {
    const record = parse(url, base);
    return record === null ? null : new URL(serializeUrl(record));
  }

  // Puts the pairs of a query into searchParams, if somebody has asked for it.
  #refreshParams(query) {
    if (this.#params === null) return;
    bindSearchParams(this.#params, parseQuery(query), (changed) => {
      this.#record.query = changed === '' ? null : changed;
    });
  }

  get href() {
    return serializeUrl(this.#record);
  }

  set href(value) {
    const record = parse(value);
    if (record === null) throw noUrl(value);
    this.#record = record;
    this.#refreshParams(record.query ?? '');
  }

  get origin() {
    return originOf(this.#record);
  }

  get protocol() {
    return this.#record.scheme + ':';
  }

  set protocol(value) {
    changeScheme(this.#record, value);
  }

  get username() {
    return this.#record.username;
  }

  set username(value) {
    const text = percentEncode(toText(value), USERINFO);
    if (!cannotHavePort(this.#record)) this.#record.username = text;
  }

  get password() {
    return this.#record.password;
  }

  set password(value) {
    const text = percentEncode(toText(value), USERINFO);
    if (!cannotHavePort(this.#record)) this.#record.password = text;
  }

  get host() {
    return hostText(this.#record);
  }

  set host(value) {
    changeHost(this.#record, value, true);
  }

  get hostname() {
    return this.#record.host ?? '';
  }

  set hostname(value) {
    changeHost(this.#record, value, false);
  }

  get port() {
    return this.#record.port === null ? '' : '' + this.#record.port;
  }

  set port(value) {
    const text = toText(value);
    if (cannotHavePort(this.#record)) return;
    if (text === '') this.#record.port = null;
    else changePort(this.#record, withoutNewlines(text));
  }

  get pathname() {
    return pathText(this.#record);
  }

  set pathname(value) {
    const text = withoutNewlines(toText(value));
    if (isOpaque(this.#record)) return;
    setPath(this.#record, text);
    if (text === '' && this.#record.host === null) this.#record.path[0] = '';
  }

  get search() {
    return this.#record.query === null || this.#record.query === '' ? '' : '?' + this.#record.query;
  }

  set search(value) {
    const text = toText(value);
    const query = afterMark(text, '?');
    this.#record.query = text === '' ? null : encodeQuery(this.#record, query);
    this.#refreshParams(query);
  }

  get searchParams() {
    if (this.#params === null) {
      this.#params = new URLSearchParams();
      this.#refreshParams(this.#record.query ?? '');
    }
    return this.#params;
  }

  get hash() {
    return this.#record.fragment === null || this.#record.fragment === '' ? '' : '#' + this.#record.fragment;
  }

  set hash(value) {
    const text = toText(value);
    this.#record.fragment = text === '' ? null : encodeFragment(afterMark(text, '#'));
  }

  toString() {
    return serializeUrl(this.#record);
  }

  toJSON() {
    return serializeUrl(this.#record);
  }
}
