// The host of a URL: names, IPv4 in all its spellings, IPv6. No IDNA here: see `parseHost`.
import {
  NumberPrototypeToString, StringPrototypeCharCodeAt, StringPrototypeEndsWith, StringPrototypeIncludes,
  StringPrototypeIndexOf, StringPrototypeSlice, StringPrototypeStartsWith, StringPrototypeToLowerCase, newList,
} from './primordials.js';
import {
  C0_CONTROL, FORBIDDEN_IN_DOMAIN, FORBIDDEN_IN_HOST, hasAny, hexValue, percentDecode, percentEncode,
} from './percent.js';

/** The parts of a string between single-unit separators, as a null-prototype list. */
export const splitOn = (string, separator) => {
  const parts = newList();
  let from = 0;
  for (;;) {
    const at = StringPrototypeIndexOf(string, separator, from);
    if (at < 0) break;
    parts[parts.length] = StringPrototypeSlice(string, from, at);
    from = at + 1;
  }
  parts[parts.length] = StringPrototypeSlice(string, from);
  return parts;
};

/** Whether every code unit of a string is an ASCII digit; true for the empty string. */
export const isDigits = (string) => {
  for (let i = 0; i < string.length; i++) {
    const code = StringPrototypeCharCodeAt(string, i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
};

// One part of an IPv4 address: decimal, 0x… or 0… octal; -1 if it is none of them.
const ipv4Number = (part) => {
  if (part === '') return -1;
  let radix = 10;
  let from = 0;
  if (part.length >= 2 && part[0] === '0') {
    const isHex = part[1] === 'x' || part[1] === 'X';
    radix = isHex ? 16 : 8;
    from = isHex ? 2 : 1;
  }
  let value = 0;
  for (; from < part.length; from++) {
    const digit = hexValue(StringPrototypeCharCodeAt(part, from));
    if (digit < 0 || digit >= radix) return -1;
    value = value * radix + digit;
  }
  return value;
};

const ipv4Parts = (host) => splitOn(StringPrototypeEndsWith(host, '.') ? StringPrototypeSlice(host, 0, -1) : host, '.');

// A host whose last part is numeric is an IPv4 address or nothing: "1.2.3.4.5" and "a.0x1" are no names.
const endsInNumber = (parts) => {
  const last = parts[parts.length - 1];
  return last !== '' && (isDigits(last) || ipv4Number(last) >= 0);
};

const parseIpv4 = (parts) => {
  if (parts.length > 4) return null;
  let address = 0;
  for (let i = 0; i < parts.length; i++) {
    const value = ipv4Number(parts[i]);
    const isLast = i === parts.length - 1;
    if (value < 0 || value >= (isLast ? 256 ** (5 - parts.length) : 256)) return null;
    address += isLast ? value : value * 256 ** (3 - i);
  }
  const high = ((address / 2 ** 24) | 0) + '.' + (((address / 2 ** 16) | 0) & 255);
  return high + '.' + ((address / 256) & 255) + '.' + (address & 255);
};

// The four decimal bytes at the end of an IPv6 address as two pieces; null if they are anything else.
const embeddedIpv4 = (text) => {
  const parts = splitOn(text, '.');
  if (parts.length !== 4) return null;
  const bytes = newList();
  for (let i = 0; i < 4; i++) {
    const part = parts[i];
    if (part === '' || part.length > 3 || !isDigits(part) || (part.length > 1 && part[0] === '0')) return null;
    bytes[i] = +part;
    if (bytes[i] > 255) return null;
  }
  return { high: bytes[0] * 256 + bytes[1], low: bytes[2] * 256 + bytes[3] };
};

// The pieces of one side of "::" as numbers; null if one is wrong. Only the last side may end in an IPv4 address.
const ipv6Pieces = (text, isLastSide) => {
  const pieces = newList();
  if (text === '') return pieces;
  const parts = splitOn(text, ':');
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (isLastSide && i === parts.length - 1 && StringPrototypeIncludes(part, '.')) {
      const pair = embeddedIpv4(part);
      if (pair === null) return null;
      pieces[pieces.length] = pair.high;
      pieces[pieces.length] = pair.low;
      return pieces;
    }
    if (part === '' || part.length > 4) return null;
    let value = 0;
    for (let j = 0; j < part.length; j++) {
      const digit = hexValue(StringPrototypeCharCodeAt(part, j));
      if (digit < 0) return null;
      value = value * 16 + digit;
    }
    pieces[pieces.length] = value;
  }
  return pieces;
};

const parseIpv6 = (text) => {
  const gap = StringPrototypeIndexOf(text, '::');
  const head = ipv6Pieces(gap < 0 ? text : StringPrototypeSlice(text, 0, gap), gap < 0);
  const tail = gap < 0 ? newList() : ipv6Pieces(StringPrototypeSlice(text, gap + 2), true);
  if (head === null || tail === null) return null;
  const zeros = 8 - head.length - tail.length;
  if (gap < 0 ? zeros !== 0 : zeros < 1) return null;
  for (let i = 0; i < zeros; i++) head[head.length] = 0;
  for (let i = 0; i < tail.length; i++) head[head.length] = tail[i];
  return head;
};

// Lower-case hexadecimal without leading zeros, the first longest run of zeros (of two or more) written "::".
const serializeIpv6 = (pieces) => {
  let start = -1;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && pieces[end] === 0) end++;
    if (end - i > length) {
      start = i;
      length = end - i;
    }
    if (end > i) i = end;
  }
  let result = '';
  for (let i = 0; i < 8; i++) {
    if (i === start) {
      result += i === 0 ? '::' : ':';
      i += length - 1;
      continue;
    }
    result += NumberPrototypeToString(pieces[i], 16);
    if (i < 7) result += ':';
  }
  return result;
};

/**
 * The canonical form of a host, null if there is no such host.
 *
 * A special scheme's host is percent-decoded and lower-cased. A name that is not ASCII stays Unicode: the tables of
 * IDNA are not in the guest, the host applies them ("xn--…") before it checks and resolves the name. Other schemes'
 * hosts are opaque: only percent-encoded.
 */
export const parseHost = (text, isSpecial) => {
  if (StringPrototypeStartsWith(text, '[')) {
    if (!StringPrototypeEndsWith(text, ']')) return null;
    const pieces = parseIpv6(StringPrototypeSlice(text, 1, -1));
    return pieces === null ? null : '[' + serializeIpv6(pieces) + ']';
  }
  if (!isSpecial) return hasAny(text, FORBIDDEN_IN_HOST) ? null : percentEncode(text, C0_CONTROL);
  const host = StringPrototypeToLowerCase(percentDecode(text));
  if (host === '' || hasAny(host, FORBIDDEN_IN_DOMAIN) || StringPrototypeIncludes(host, '\ufffd')) return null;
  const parts = ipv4Parts(host);
  return endsInNumber(parts) ? parseIpv4(parts) : host;
};
