// UTF-8 both ways, without classes: TextEncoder, TextDecoder, the URL parser and system/* stand on these functions.
import {
  ReflectApply, StringFromCharCode, StringPrototypeCharCodeAt, TypeError, Uint8Array, newList,
} from './primordials.js';

// Code units that are turned into a string at once: large enough to be cheap, far below the engine's 65,535 arguments.
const PIECE_UNITS = 8192;
const REPLACEMENT = 0xfffd;

/** The string of a list of code units. */
export const joinUnits = (units) => ReflectApply(StringFromCharCode, undefined, units);

/** The state of a decoder between two chunks of a stream. */
export const newUtf8State = () => ({ __proto__: null, needed: 0, point: 0, lower: 0x80, upper: 0xbf });

const reject = () => {
  throw new TypeError('The encoded data was not valid for encoding utf-8');
};

/**
 * Decodes `bytes[0..count]` (a Uint8Array), going on from `state`.
 *
 * With `more`, an unfinished sequence at the end waits in `state` for the next chunk. What is not UTF-8 becomes U+FFFD,
 * one for each maximal bad prefix as the encoding standard counts them, or throws a TypeError if `fatal`.
 */
export const decodeUtf8Chunk = (state, bytes, count, fatal, more) => {
  let needed = state.needed;
  let point = state.point;
  let lower = state.lower;
  let upper = state.upper;
  let text = '';
  let used = 0;
  const units = newList();
  state.needed = 0;
  state.lower = 0x80;
  state.upper = 0xbf;
  for (let i = 0; i < count; i++) {
    const byte = bytes[i];
    if (needed === 0) {
      if (byte < 0x80) {
        units[used++] = byte;
      } else if (byte >= 0xc2 && byte < 0xe0) {
        needed = 1;
        point = byte & 0x1f;
      } else if (byte >= 0xe0 && byte < 0xf0) {
        if (byte === 0xe0) lower = 0xa0;
        else if (byte === 0xed) upper = 0x9f;
        needed = 2;
        point = byte & 0xf;
      } else if (byte >= 0xf0 && byte < 0xf5) {
        if (byte === 0xf0) lower = 0x90;
        else if (byte === 0xf4) upper = 0x8f;
        needed = 3;
        point = byte & 7;
      } else {
        if (fatal) reject();
        units[used++] = REPLACEMENT;
      }
    } else if (byte < lower || byte > upper) {
      if (fatal) reject();
      units[used++] = REPLACEMENT;
      needed = 0;
      lower = 0x80;
      upper = 0xbf;
      i--; // this byte begins something new
    } else {
      lower = 0x80;
      upper = 0xbf;
      point = (point << 6) | (byte & 0x3f);
      if (--needed === 0) {
        if (point > 0xffff) {
          units[used++] = 0xd7c0 + (point >> 10);
          point = 0xdc00 | (point & 0x3ff);
        }
        units[used++] = point;
      }
    }
    if (used >= PIECE_UNITS) {
      units.length = used;
      text += joinUnits(units);
      used = 0;
    }
  }
  if (more) {
    state.needed = needed;
    state.point = point;
    state.lower = lower;
    state.upper = upper;
  } else if (needed > 0) {
    if (fatal) reject();
    units[used++] = REPLACEMENT;
  }
  units.length = used;
  return text + joinUnits(units);
};

/** The text of `bytes[0..count]`; a byte order mark is kept, what is not UTF-8 becomes U+FFFD. */
export const decodeUtf8 = (bytes, count) => decodeUtf8Chunk(newUtf8State(), bytes, count, false, false);

/** The code point at `string[i]`, U+FFFD for a lone surrogate. Above U+FFFF it takes two code units. */
const scalarAt = (string, i) => {
  const first = StringPrototypeCharCodeAt(string, i);
  if (first < 0xd800 || first > 0xdfff) return first;
  if (first < 0xdc00 && i + 1 < string.length) {
    const second = StringPrototypeCharCodeAt(string, i + 1);
    if (second >= 0xdc00 && second < 0xe000) return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }
  return REPLACEMENT;
};

/**
 * Writes a string's UTF-8 into a Uint8Array from `offset` on, whole code points only, up to `room` bytes in all.
 * Begins at code unit `read`. Returns where it stopped: `{ read, written }`, written counting from the array's start.
 */
export const encodeUtf8Into = (string, bytes, read, offset, room) => {
  let written = offset;
  for (; read < string.length; read++) {
    let point = StringPrototypeCharCodeAt(string, read);
    if (point < 0x80) {
      if (written >= room) break;
      bytes[written++] = point;
      continue;
    }
    point = scalarAt(string, read);
    if (point < 0x800) {
      if (written + 2 > room) break;
      bytes[written++] = 0xc0 | (point >> 6);
    } else {
      if (point < 0x10000) {
        if (written + 3 > room) break;
        bytes[written++] = 0xe0 | (point >> 12);
      } else {
        if (written + 4 > room) break;
        bytes[written++] = 0xf0 | (point >> 18);
        bytes[written++] = 0x80 | ((point >> 12) & 0x3f);
        read++;
      }
      bytes[written++] = 0x80 | ((point >> 6) & 0x3f);
    }
    bytes[written++] = 0x80 | (point & 0x3f);
  }
  return { read, written };
};

// The bytes that string[from..] takes.
const countUtf8 = (string, from) => {
  let count = 0;
  for (let i = from; i < string.length; i++) {
    const unit = StringPrototypeCharCodeAt(string, i);
    if (unit < 0x80) count++;
    else if (unit < 0x800) count += 2;
    else if (unit < 0xd800 || unit > 0xdbff || scalarAt(string, i) === REPLACEMENT) count += 3;
    else {
      count += 4;
      i++;
    }
  }
  return count;
};

/** A string's UTF-8 in a new Uint8Array of exactly its size; a lone surrogate becomes U+FFFD. */
export const encodeUtf8 = (string) => {
  // As if it were all ASCII, which it nearly always is: counting first would cost a second pass over every string.
  let bytes = new Uint8Array(string.length);
  let prefix = 0;
  for (; prefix < string.length; prefix++) {
    const unit = StringPrototypeCharCodeAt(string, prefix);
    if (unit >= 0x80) break;
    bytes[prefix] = unit;
  }
  if (prefix === string.length) return bytes;
  bytes = undefined; // freed before the real one is made: both beside a large string would not fit the heap
  const size = prefix + countUtf8(string, prefix);
  bytes = new Uint8Array(size);
  encodeUtf8Into(string, bytes, 0, 0, size);
  return bytes;
};
