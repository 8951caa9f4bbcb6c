// TextEncoder and TextDecoder: UTF-8; decoding also windows-1252 (which the web calls latin1) and UTF-16 LE.
import {
  RangeError, StringPrototypeCharCodeAt, StringPrototypeSlice, StringPrototypeToLowerCase, TypeError,
  TypedArrayPrototypeGetLength, TypedArrayPrototypeGetTag, Uint8Array, bytesOf, newList, tagClass, toString,
} from './primordials.js';
import { splitOn } from './host.js';
import { decodeUtf8Chunk, encodeUtf8, encodeUtf8Into, joinUnits, newUtf8State } from './utf8.js';

const ENCODINGS = { __proto__: null };
const register = (encoding, labels) => {
  const list = splitOn(labels, ' ');
  for (let i = 0; i < list.length; i++) ENCODINGS[list[i]] = encoding;
};
register('utf-8', 'utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8');
register('utf-16le', 'utf-16le utf-16 ucs-2 unicode unicodefeff csunicode iso-10646-ucs-2');
register(
  'windows-1252',
  'windows-1252 latin1 l1 ascii us-ascii ansi_x3.4-1968 cp1252 x-cp1252 cp819 ibm819 csisolatin1 iso-8859-1 ' +
    'iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 iso-ir-100',
);

// windows-1252 from 0x80 to 0x9f; above and below, a byte is its code point.
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
const PIECE_BYTES = 8192;
const BYTE_ORDER_MARK = 0xfeff;
const REPLACEMENT = 0xfffd;

const decodeWindows1252 = (bytes, count) => {
  let text = '';
  for (let from = 0; from < count; from += PIECE_BYTES) {
    const units = newList();
    for (let i = from; i < count && i < from + PIECE_BYTES; i++) {
      const byte = bytes[i];
      units[i - from] = byte >= 0x80 && byte < 0xa0 ? StringPrototypeCharCodeAt(WINDOWS_1252, byte - 0x80) : byte;
    }
    text += joinUnits(units);
  }
  return text;
};

const newUtf16State = () => ({ __proto__: null, lead: -1, high: -1 });

// As decodeUtf8Chunk: `state.lead` is half a code unit, `state.high` a surrogate that waits for its second half.
const decodeUtf16Chunk = (state, bytes, count, fatal, more) => {
  let { lead, high } = state;
  let text = '';
  let units = newList();
  const bad = () => {
    if (fatal) throw new TypeError('The encoded data was not valid for encoding utf-16le');
    units[units.length] = REPLACEMENT;
  };
  state.lead = -1;
  state.high = -1;
  for (let i = 0; i < count; i++) {
    if (lead < 0) {
      lead = bytes[i];
      continue;
    }
    const unit = lead | (bytes[i] << 8);
    const isLow = unit >= 0xdc00 && unit < 0xe000;
    lead = -1;
    if (high >= 0 && isLow) units[units.length] = high;
    else if (high >= 0 || isLow) bad();
    const isPair = high >= 0 && isLow;
    high = unit >= 0xd800 && unit < 0xdc00 ? unit : -1;
    if (high < 0 && (isPair || !isLow)) units[units.length] = unit;
    if (units.length >= PIECE_BYTES) {
      text += joinUnits(units);
      units = newList();
    }
  }
  if (more) {
    state.lead = lead;
    state.high = high;
  } else if (lead >= 0 || high >= 0) {
    bad();
  }
  return text + joinUnits(units);
};

const isAsciiSpace = (code) => code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0c || code === 0x0d;

const findEncoding = (label) => {
  let start = 0;
  let end = label.length;
  while (start < end && isAsciiSpace(StringPrototypeCharCodeAt(label, start))) start++;
  while (end > start && isAsciiSpace(StringPrototypeCharCodeAt(label, end - 1))) end--;
  return ENCODINGS[StringPrototypeToLowerCase(StringPrototypeSlice(label, start, end))];
};

export class TextEncoder {
  static {
    tagClass(this, 'TextEncoder');
  }

  #isEncoder = true; // so that a foreign `this` is a TypeError

  get encoding() {
    return this.#isEncoder && 'utf-8';
  }

  encode(input = '') {
    return this.#isEncoder && encodeUtf8(toString(input));
  }

  encodeInto(source, destination) {
    const text = toString(source);
    if (!this.#isEncoder || TypedArrayPrototypeGetTag(destination) !== 'Uint8Array') {
      throw new TypeError('The destination of encodeInto must be a Uint8Array');
    }
    return encodeUtf8Into(text, destination, 0, 0, TypedArrayPrototypeGetLength(destination));
  }
}

export class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBom;
  #state = null; // of the stream, null where none is open
  #pastStart = false; // whether a byte order mark would be text by now

  static {
    tagClass(this, 'TextDecoder');
  }

  constructor(label = 'utf-8', options = undefined) {
    const name = toString(label);
    this.#encoding = findEncoding(name);
    if (this.#encoding === undefined) {
      const shown = StringPrototypeSlice(name, 0, 100);
      throw new RangeError('The encoding "' + shown + '" is not supported: use utf-8, latin1 or utf-16le');
    }
    this.#fatal = !!options?.fatal;
    this.#ignoreBom = !!options?.ignoreBOM;
  }

  get encoding() {
    return this.#encoding;
  }

  get fatal() {
    return this.#fatal;
  }

  get ignoreBOM() {
    return this.#ignoreBom;
  }

  #decodeChunk(bytes, more) {
    const count = TypedArrayPrototypeGetLength(bytes);
    if (this.#encoding === 'windows-1252') return decodeWindows1252(bytes, count);
    const decode = this.#encoding === 'utf-8' ? decodeUtf8Chunk : decodeUtf16Chunk;
    return decode(this.#state, bytes, count, this.#fatal, more);
  }

  decode(input = undefined, options = undefined) {
    const bytes = input === undefined ? new Uint8Array(0) : bytesOf(input);
    if (bytes === null) throw new TypeError('TextDecoder.decode takes an ArrayBuffer, a typed array or a DataView');
    const more = !!options?.stream;
    if (this.#state === null) {
      this.#state = this.#encoding === 'utf-8' ? newUtf8State() : newUtf16State();
      this.#pastStart = this.#ignoreBom;
    }
    let done = !more;
    try {
      let text = this.#decodeChunk(bytes, more);
      if (!this.#pastStart && text !== '') {
        this.#pastStart = true;
        if (StringPrototypeCharCodeAt(text, 0) === BYTE_ORDER_MARK) text = StringPrototypeSlice(text, 1);
      }
      return text;
    } catch (error) {
      done = true;
      throw error;
    } finally {
      if (done) this.#state = null;
    }
  }
}
