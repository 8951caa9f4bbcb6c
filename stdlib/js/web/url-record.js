// The URL parser and serializer of the URL standard, on plain records; the class URL wraps them.
//
// A record has scheme, username, password, host (null: none), port (null: the scheme's own), path (a list of segments,
// or a string: an opaque path, "mailto:x"), query and fragment (null: none). The standard walks code point by code
// point; as "#" and then "?" end every other part, this parser cuts the input there first and works on slices.
import {
  StringPrototypeCharCodeAt, StringPrototypeEndsWith, StringPrototypeIndexOf, StringPrototypeLastIndexOf,
  StringPrototypeSlice, StringPrototypeStartsWith, StringPrototypeToLowerCase, newList,
} from './primordials.js';
import { isDigits, parseHost } from './host.js';
import { C0_CONTROL, FRAGMENT, PATH, QUERY, SPECIAL_QUERY, USERINFO, percentEncode, replaceEach } from './percent.js';

// null: a special scheme without a port.
const DEFAULT_PORTS = { __proto__: null, http: 80, https: 443, ws: 80, wss: 443, ftp: 21, file: null };

// How many dots a segment stands for; "%2e" is a dot.
const DOT_SEGMENTS = { __proto__: null, '.': 1, '%2e': 1, '..': 2, '.%2e': 2, '%2e.': 2, '%2e%2e': 2 };

/** Whether a scheme is one of http, https, ws, wss, ftp, file. */
export const isSpecialScheme = (scheme) => DEFAULT_PORTS[scheme] !== undefined;

export const isSpecial = (url) => isSpecialScheme(url.scheme);
export const isOpaque = (url) => typeof url.path === 'string';
export const hasCredentials = (url) => url.username !== '' || url.password !== '';

const isLetter = (code) => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
const isSlash = (text, i, special) => i < text.length && (text[i] === '/' || (special && text[i] === '\\'));

const isDriveLetter = (text) =>
  text.length === 2 && isLetter(StringPrototypeCharCodeAt(text, 0)) && (text[1] === ':' || text[1] === '|');

// "c:", "c:/x" and "c|?…" but not "c:x"; what follows "?" or "#" has been cut off already.
const startsWithDriveLetter = (text) =>
  text.length >= 2 && isDriveLetter(StringPrototypeSlice(text, 0, 2)) && (text.length === 2 || isSlash(text, 2, true));

/** The lower-cased scheme at the start of `text` (its length is where the ":" stands), '' if there is none. */
export const schemeOf = (text) => {
  const end = StringPrototypeIndexOf(text, ':');
  if (end < 1 || !isLetter(StringPrototypeCharCodeAt(text, 0))) return '';
  for (let i = 1; i < end; i++) {
    const code = StringPrototypeCharCodeAt(text, i);
    const isMark = code === 0x2b || code === 0x2d || code === 0x2e; // + - .
    if (!isMark && !isLetter(code) && !(code >= 0x30 && code <= 0x39)) return '';
  }
  return StringPrototypeToLowerCase(StringPrototypeSlice(text, 0, end));
};

/** The text without tabs and newlines, which the standard ignores wherever they stand. */
export const withoutNewlines = (text) => replaceEach(replaceEach(replaceEach(text, '\t', ''), '\n', ''), '\r', '');

const trimmed = (text) => {
  let start = 0;
  let end = text.length;
  while (start < end && StringPrototypeCharCodeAt(text, start) <= 0x20) start++;
  while (end > start && StringPrototypeCharCodeAt(text, end - 1) <= 0x20) end--;
  return withoutNewlines(StringPrototypeSlice(text, start, end));
};

// Removes the last segment, but not a drive letter that is the whole path.
const shortenPath = (url) => {
  const { path, scheme } = url;
  if (scheme === 'file' && path.length === 1 && isDriveLetter(path[0]) && path[0][1] === ':') return;
  if (path.length > 0) path.length--;
};

/** Appends the segments of `text`, which begins after a slash, to the record's path: the standard's path state. */
export const appendPath = (url, text) => {
  const special = isSpecial(url);
  const { path } = url;
  let from = 0;
  for (let i = 0; i <= text.length; i++) {
    const atSlash = isSlash(text, i, special);
    if (!atSlash && i < text.length) continue;
    let segment = StringPrototypeSlice(text, from, i);
    from = i + 1;
    const dots = segment.length > 6 ? undefined : DOT_SEGMENTS[StringPrototypeToLowerCase(segment)];
    if (dots !== undefined) {
      if (dots === 2) shortenPath(url);
      if (!atSlash) path[path.length] = '';
      continue;
    }
    segment = percentEncode(segment, PATH);
    if (url.scheme === 'file' && path.length === 0 && isDriveLetter(segment)) segment = segment[0] + ':';
    path[path.length] = segment;
  }
};

/** Sets a path from text that begins with its leading slash, if it has one: the standard's path start state. */
export const setPath = (url, text) => {
  url.path = newList();
  const special = isSpecial(url);
  if (special || text !== '') appendPath(url, isSlash(text, 0, special) ? StringPrototypeSlice(text, 1) : text);
};

/** Sets the port from digits; false if it is none. The scheme's own port becomes null, and so does "". */
export const setPort = (url, digits) => {
  if (!isDigits(digits) || +digits > 65535) return false;
  url.port = digits === '' || +digits === DEFAULT_PORTS[url.scheme] ? null : +digits;
  return true;
};

/** Where a host ends that begins `text`: at the first ":" outside of brackets, or at the end. */
export const hostEnd = (text) => {
  let inBrackets = false;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '[') inBrackets = true;
    else if (text[i] === ']') inBrackets = false;
    else if (text[i] === ':' && !inBrackets) return i;
  }
  return text.length;
};

/** Where an authority ends that begins `text`: at the first slash, "?" or "#", or at the end. */
export const authorityEnd = (text, special) => {
  let end = 0;
  while (end < text.length && !isSlash(text, end, special) && text[end] !== '?' && text[end] !== '#') end++;
  return end;
};

/** Sets the host; false if there is no such host. A special scheme other than file must have one. */
export const setHost = (url, text) => {
  if (text === '' && (url.scheme === 'file' || !isSpecial(url))) {
    url.host = '';
    return true;
  }
  const host = parseHost(text, isSpecial(url));
  if (host === null) return false;
  url.host = url.scheme === 'file' && host === 'localhost' ? '' : host;
  return true;
};

// text: what follows "//". Returns false if it is no authority and path.
const parseAuthority = (url, text) => {
  const end = authorityEnd(text, isSpecial(url));
  let authority = StringPrototypeSlice(text, 0, end);
  const at = StringPrototypeLastIndexOf(authority, '@');
  if (at >= 0) {
    const credentials = StringPrototypeSlice(authority, 0, at);
    authority = StringPrototypeSlice(authority, at + 1);
    if (authority === '') return false;
    const colon = StringPrototypeIndexOf(credentials, ':');
    url.username = percentEncode(colon < 0 ? credentials : StringPrototypeSlice(credentials, 0, colon), USERINFO);
    url.password = colon < 0 ? '' : percentEncode(StringPrototypeSlice(credentials, colon + 1), USERINFO);
  }
  const colon = hostEnd(authority);
  if (colon === 0 && colon < authority.length) return false;
  if (!setHost(url, StringPrototypeSlice(authority, 0, colon))) return false;
  if (!setPort(url, StringPrototypeSlice(authority, colon + 1))) return false;
  setPath(url, StringPrototypeSlice(text, end));
  return true;
};

const copyPath = (path) => {
  const copy = newList();
  for (let i = 0; i < path.length; i++) copy[i] = path[i];
  return copy;
};

const inherit = (url, base) => {
  url.username = base.username;
  url.password = base.password;
  url.host = base.host;
  url.port = base.port;
};

const parseFile = (url, text, base) => {
  url.host = '';
  if (isSlash(text, 0, true) && isSlash(text, 1, true)) {
    const end = 2 + authorityEnd(StringPrototypeSlice(text, 2), true);
    const host = StringPrototypeSlice(text, 2, end);
    if (isDriveLetter(host)) {
      appendPath(url, StringPrototypeSlice(text, 2));
      return true;
    }
    if (!setHost(url, host)) return false;
    setPath(url, StringPrototypeSlice(text, end));
    return true;
  }
  const fromBase = base !== null && base.scheme === 'file';
  if (isSlash(text, 0, true)) {
    const rest = StringPrototypeSlice(text, 1);
    if (fromBase) {
      url.host = base.host;
      const drive = base.path.length > 0 ? base.path[0] : '';
      if (!startsWithDriveLetter(rest) && isDriveLetter(drive) && drive[1] === ':') url.path[0] = drive;
    }
    appendPath(url, rest);
    return true;
  }
  if (!fromBase) {
    appendPath(url, text);
    return true;
  }
  url.host = base.host;
  return parseRelative(url, text, base);
};

// The rest of a reference without scheme and authority: nothing, or a path that begins in the base's folder.
const parseRelative = (url, text, base) => {
  url.path = copyPath(base.path);
  if (text === '') {
    if (url.query === null) url.query = base.query;
    return true;
  }
  if (url.scheme === 'file' && startsWithDriveLetter(text)) url.path = newList();
  else shortenPath(url);
  appendPath(url, text);
  return true;
};

// text: what follows the scheme, or all of it; "?" and "#" and what follows them have been cut off.
const parseBody = (url, text, base, hasScheme) => {
  const special = isSpecial(url);
  if (url.scheme === 'file') return parseFile(url, text, base);
  const twoSlashes = isSlash(text, 0, special) && isSlash(text, 1, special);
  if (hasScheme && (!special || base === null || base.scheme !== url.scheme || twoSlashes)) {
    if (!special && !twoSlashes) {
      if (isSlash(text, 0, false)) setPath(url, text);
      else url.path = percentEncode(text, C0_CONTROL);
      return true;
    }
  } else if (!twoSlashes) {
    inherit(url, base);
    if (!isSlash(text, 0, special)) return parseRelative(url, text, base);
    setPath(url, text);
    return true;
  }
  let start = special ? 0 : 2;
  while (special && isSlash(text, start, true)) start++;
  return parseAuthority(url, StringPrototypeSlice(text, start));
};

export const encodeQuery = (url, text) => percentEncode(text, isSpecial(url) ? SPECIAL_QUERY : QUERY);
export const encodeFragment = (text) => percentEncode(text, FRAGMENT);

/** Parses a well-formed string against a base record or null. Returns a record, null if it is no URL. */
export const parseUrl = (input, base) => {
  let text = trimmed(input);
  const url = {
    __proto__: null,
    scheme: schemeOf(text),
    username: '',
    password: '',
    host: null,
    port: null,
    path: newList(),
    query: null,
    fragment: null,
  };
  const hasScheme = url.scheme !== '';
  if (hasScheme) {
    text = StringPrototypeSlice(text, url.scheme.length + 1);
  } else {
    if (base === null || (isOpaque(base) && !StringPrototypeStartsWith(text, '#'))) return null;
    url.scheme = base.scheme;
  }
  const hash = StringPrototypeIndexOf(text, '#');
  if (hash >= 0) {
    url.fragment = encodeFragment(StringPrototypeSlice(text, hash + 1));
    text = StringPrototypeSlice(text, 0, hash);
  }
  const mark = StringPrototypeIndexOf(text, '?');
  if (mark >= 0) {
    url.query = encodeQuery(url, StringPrototypeSlice(text, mark + 1));
    text = StringPrototypeSlice(text, 0, mark);
  }
  if (!hasScheme && isOpaque(base)) {
    url.path = base.path;
    url.query = base.query;
    return url;
  }
  if (!parseBody(url, text, base, hasScheme)) return null;
  // A space at the end of an opaque path would be lost when the URL is parsed again.
  if (isOpaque(url) && (mark >= 0 || hash >= 0) && StringPrototypeEndsWith(url.path, ' ')) {
    url.path = StringPrototypeSlice(url.path, 0, -1) + '%20';
  }
  return url;
};

/** The text of a record's path. */
export const pathText = (url) => {
  if (isOpaque(url)) return url.path;
  let text = '';
  for (let i = 0; i < url.path.length; i++) text += '/' + url.path[i];
  return text;
};

/** "host:port", "host" or "". */
export const hostText = (url) => (url.host === null ? '' : url.port === null ? url.host : url.host + ':' + url.port);

/** The text of a record; `withFragment` false leaves the fragment out. */
export const serializeUrl = (url, withFragment = true) => {
  let text = url.scheme + ':';
  if (url.host !== null) {
    text += '//' + url.username;
    if (url.password !== '') text += ':' + url.password;
    if (hasCredentials(url)) text += '@';
    text += hostText(url);
  } else if (!isOpaque(url) && url.path.length > 1 && url.path[0] === '') {
    text += '/.'; // else "web+x:/.//host" would come back as an authority
  }
  text += pathText(url);
  if (url.query !== null) text += '?' + url.query;
  return withFragment && url.fragment !== null ? text + '#' + url.fragment : text;
};
