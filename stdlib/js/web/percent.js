// Percent-encoding as the URL standard has it: which code points each part of a URL encodes, and back.
import {
  StringPrototypeCharCodeAt, StringPrototypeCodePointAt, StringPrototypeIncludes, StringPrototypeIndexOf,
  StringPrototypeSlice, Uint16Array, Uint8Array, decodeURIComponent,
} from './primordials.js';
import { decodeUtf8 } from './utf8.js';

// One bit for each set; ASCII_CLASS says for a code point below 128 in which sets it is. The others are in all of them.
export const C0_CONTROL = 1;
export const FRAGMENT = 2;
export const QUERY = 4;
export const SPECIAL_QUERY = 8;
export const PATH = 16;
export const USERINFO = 32;
export const FORM = 64;
export const FORBIDDEN_IN_HOST = 128;
export const FORBIDDEN_IN_DOMAIN = 256;

const ASCII_CLASS = new Uint16Array(128);
const PERCENT_SETS = C0_CONTROL | FRAGMENT | QUERY | SPECIAL_QUERY | PATH | USERINFO | FORM;
const put = (characters, sets) => {
  for (let i = 0; i < characters.length; i++) ASCII_CLASS[StringPrototypeCharCodeAt(characters, i)] |= sets;
};
for (let code = 0; code < 32; code++) ASCII_CLASS[code] = PERCENT_SETS | FORBIDDEN_IN_DOMAIN;
put('\x7f', PERCENT_SETS | FORBIDDEN_IN_DOMAIN);
put(' "<>', FRAGMENT);
put('`', FRAGMENT);
put(' "#<>', QUERY | SPECIAL_QUERY | PATH | USERINFO | FORM);
put("'", SPECIAL_QUERY | FORM);
put('?^`{}', PATH | USERINFO | FORM);
put('/:;=@[\\]|', USERINFO | FORM);
put('$%&+,!()~', FORM);
put('\0\t\n\r #/:<>?@[\\]^|', FORBIDDEN_IN_HOST | FORBIDDEN_IN_DOMAIN);
put('%', FORBIDDEN_IN_DOMAIN);

const HEX = '0123456789ABCDEF';
const escapeByte = (byte) => '%' + HEX[byte >> 4] + HEX[byte & 15];

const escapeCodePoint = (point) => {
  if (point < 0x80) return escapeByte(point);
  const last = escapeByte(0x80 | (point & 0x3f));
  if (point < 0x800) return escapeByte(0xc0 | (point >> 6)) + last;
  const middle = escapeByte(0x80 | ((point >> 6) & 0x3f)) + last;
  if (point < 0x10000) return escapeByte(0xe0 | (point >> 12)) + middle;
  return escapeByte(0xf0 | (point >> 18)) + escapeByte(0x80 | ((point >> 12) & 0x3f)) + middle;
};

/** Encodes each code point of a well-formed string that is in `set`. For the FORM set, a space becomes "+". */
export const percentEncode = (string, set) => {
  let result = '';
  let from = 0;
  for (let i = 0; i < string.length; i++) {
    let point = StringPrototypeCharCodeAt(string, i);
    if (point < 0x80 && (ASCII_CLASS[point] & set) === 0) continue;
    result += StringPrototypeSlice(string, from, i);
    if (point >= 0xd800 && point < 0xdc00) {
      point = StringPrototypeCodePointAt(string, i);
      i++;
    }
    result += point === 0x20 && set === FORM ? '+' : escapeCodePoint(point);
    from = i + 1;
  }
  return from === 0 ? string : result + StringPrototypeSlice(string, from);
};

/** Whether an ASCII code point of the string is in `set`. */
export const hasAny = (string, set) => {
  for (let i = 0; i < string.length; i++) {
    const code = StringPrototypeCharCodeAt(string, i);
    if (code < 0x80 && (ASCII_CLASS[code] & set) !== 0) return true;
  }
  return false;
};

/** The value of a hexadecimal digit's code unit, -1 for anything else. */
export const hexValue = (code) => {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};

// A piece that decodeURIComponent refuses: "%" that escapes nothing stays, bytes that are not UTF-8 become U+FFFD.
const decodeLoosely = (string) => {
  const bytes = new Uint8Array(string.length);
  let result = '';
  let count = 0;
  let from = 0;
  for (let i = 0; i <= string.length; i++) {
    const byte =
      i + 2 < string.length && string[i] === '%'
        ? (hexValue(StringPrototypeCharCodeAt(string, i + 1)) << 4) | hexValue(StringPrototypeCharCodeAt(string, i + 2))
        : -1;
    if (byte >= 0) {
      if (count === 0) result += StringPrototypeSlice(string, from, i);
      bytes[count++] = byte;
      i += 2;
      from = i + 1;
    } else if (count > 0) {
      result += decodeUtf8(bytes, count);
      count = 0;
    }
  }
  return result + StringPrototypeSlice(string, from);
};

/** The string with every "%xx" decoded, as UTF-8 without byte order mark; what is not UTF-8 becomes U+FFFD. */
export const percentDecode = (string) => {
  if (!StringPrototypeIncludes(string, '%')) return string;
  try {
    return decodeURIComponent(string);
  } catch {
    return decodeLoosely(string);
  }
};

/** The string with every `search` (one code unit) replaced. */
export const replaceEach = (string, search, replacement) => {
  let result = '';
  let from = 0;
  for (;;) {
    const at = StringPrototypeIndexOf(string, search, from);
    if (at < 0) return from === 0 ? string : result + StringPrototypeSlice(string, from);
    result += StringPrototypeSlice(string, from, at) + replacement;
    from = at + 1;
  }
};
