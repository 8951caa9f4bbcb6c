// TextEncoder and TextDecoder. A case is { name, run(api), readsBuiltIns }.

const cases = [];
const add = (name, run, options = {}) => cases.push({ name, run, ...options });
const Bytes = Uint8Array; // a script that replaces globals does not reach this name
const bytes = (...values) => Uint8Array.from(values);

const TEXTS = {
  empty: '',
  ascii: 'abc\x00\x7f',
  'two bytes': '\x80éß\u07ff',
  'three bytes': '\u0800€日\ud7ff\ue000\uffff',
  'four bytes': '\u{10000}\u{1F600}\u{10FFFF}',
  'lone surrogates': '\ud800a\udfff\udc00\ud83d',
  'reversed pair': '\ude00\ud83d',
  'byte order mark': '\ufeffa\ufeff',
  long: 'aé€\u{1F600}'.repeat(5000),
  'long ascii': 'x'.repeat(20000),
  'pair across 8192 units': 'x'.repeat(8191) + '\u{1F600}y',
};
for (const [name, text] of Object.entries(TEXTS)) {
  add(`encode ${name}`, ({ TextEncoder }) => new TextEncoder().encode(text));
  add(`encode and decode ${name}`, ({ TextEncoder, TextDecoder }) => new TextDecoder().decode(new TextEncoder().encode(text)));
  for (const size of [0, 1, 2, 3, 4, 5, 6, 7]) {
    add(`encode ${name} into ${size} bytes`, ({ TextEncoder }) => {
      const room = new Bytes(size);
      return [new TextEncoder().encodeInto(text, room), room];
    });
  }
}
const VALUES = [undefined, null, 5, {}, [1, 2], true];
for (let i = 0; i < VALUES.length; i++) {
  const readsBuiltIns = typeof VALUES[i] === 'object'; // its own toString
  add(`encode value ${i}`, ({ TextEncoder }) => new TextEncoder().encode(VALUES[i]), { readsBuiltIns });
}
add('encode without argument', ({ TextEncoder }) => new TextEncoder().encode());
add('encoding of an encoder', ({ TextEncoder }) => new TextEncoder().encoding);
add('encode into something else', ({ TextEncoder }) => new TextEncoder().encodeInto('a', VALUES[4]));
const INT8 = new Int8Array(4);
add('encode into an Int8Array', ({ TextEncoder }) => new TextEncoder().encodeInto('a', INT8));
add('encode with a foreign this', ({ TextEncoder }) => ({ __proto__: TextEncoder.prototype }).encode('a'));

const UTF8 = {
  'ends in one of two': bytes(0x61, 0xc3),
  'ends in two of three': bytes(0x61, 0xe2, 0x82),
  'ends in three of four': bytes(0x61, 0xf0, 0x9f, 0x98),
  overlong: bytes(0xc0, 0x80, 0xc1, 0xbf, 0xe0, 0x80, 0x80, 0xe0, 0x9f, 0xbf, 0xf0, 0x80, 0x80, 0x80, 0xf0, 0x8f, 0xbf, 0xbf),
  'too high': bytes(0xf4, 0x90, 0x80, 0x80, 0xf5, 0x80, 0x80, 0x80, 0xff),
  surrogates: bytes(0xed, 0xa0, 0x80, 0xed, 0xbf, 0xbf, 0xed, 0x9f, 0xbf),
  'lone continuation': bytes(0x80, 0xbf, 0x61),
  'broken by ascii': bytes(0xe2, 0x61, 0xe2, 0x82, 0x61, 0xf0, 0x9f, 0x61, 0xf0, 0x9f, 0x98, 0x61),
  'broken by a lead': bytes(0xe2, 0xc3, 0xa9, 0xe2, 0x82, 0xc3, 0xa9, 0xf0, 0x9f, 0xe2, 0x82, 0xac),
  mark: bytes(0xef, 0xbb, 0xbf, 0x61, 0xef, 0xbb, 0xbf),
  'only a mark': bytes(0xef, 0xbb, 0xbf),
  'half a mark': bytes(0xef, 0xbb),
  'two marks': bytes(0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf),
  utf16: bytes(0x61, 0x00, 0xac, 0x20, 0x3d, 0xd8, 0x00, 0xde),
  'utf16 mark': bytes(0xff, 0xfe, 0x61, 0x00),
  'utf16 odd': bytes(0x61, 0x00, 0x62),
  'utf16 lone': bytes(0x00, 0xd8, 0x61, 0x00, 0x00, 0xdc, 0x00, 0xd8, 0x00, 0xd8, 0x00, 0xdc, 0x00, 0xd8),
  'utf16 cut pair': bytes(0x3d, 0xd8, 0x00),
  nothing: bytes(),
};
for (const [name, data] of Object.entries(UTF8)) {
  for (const label of ['utf-8', 'utf-16le']) {
    for (const options of [{}, { fatal: true }, { ignoreBOM: true }]) {
      const kind = `${label} ${JSON.stringify(options)}`;
      add(`decode ${name} as ${kind}`, ({ TextDecoder }) => new TextDecoder(label, options).decode(data));
      for (const step of [1, 2, 3]) {
        const chunks = [];
        for (let i = 0; i < data.length; i += step) chunks.push(data.slice(i, i + step));
        const [first] = chunks;
        add(`decode ${name} as ${kind} by ${step}`, ({ TextDecoder }) => {
          const decoder = new TextDecoder(label, options);
          let text = '';
          for (let i = 0; i < chunks.length; i++) text += decoder.decode(chunks[i], { stream: true }) + '|';
          return [text + decoder.decode(), decoder.decode(first, { stream: true })];
        });
      }
    }
  }
}

// Every byte after each of these, and all sequences of three over them: the bytes where the rules change.
const EDGES = [
  0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3,
  0xf4, 0xf5, 0xff,
];
const PAIRS = EDGES.map((first) => Uint8Array.from({ length: 512 }, (_, i) => (i % 2 === 0 ? first : i >> 1)));
const TRIPLES = EDGES.map((first) => Uint8Array.from(EDGES.flatMap((second) => EDGES.flatMap((third) => [first, second, third, 0x2c]))));
for (let i = 0; i < EDGES.length; i++) {
  add(`decode pairs from ${EDGES[i]}`, ({ TextDecoder }) => new TextDecoder().decode(PAIRS[i]));
  add(`decode triples from ${EDGES[i]}`, ({ TextDecoder }) => new TextDecoder().decode(TRIPLES[i]));
}

const LABELS = [
  'utf8', 'UTF-8', ' utf-8\n', 'unicode-1-1-utf-8', 'unicode11utf8', 'unicode20utf8', 'x-unicode20utf8', 'latin1', 'Latin1', 'ascii',
  'us-ascii', 'iso-8859-1', 'iso8859-1', 'iso88591', 'iso_8859-1', 'iso_8859-1:1987', 'iso-ir-100', 'l1', 'windows-1252', 'cp1252',
  'x-cp1252', 'cp819', 'ibm819', 'csisolatin1', 'ansi_x3.4-1968', 'utf-16', 'utf-16le', 'ucs-2', 'unicode', 'unicodefeff', 'csunicode',
  'iso-10646-ucs-2', 'utf-7', 'nonsense', '', 'utf\u20118', '\u00a0utf-8', '__proto__', 'constructor', null, undefined,
];
for (const label of LABELS) {
  add(`label ${JSON.stringify(label)}`, ({ TextDecoder }) => {
    const decoder = new TextDecoder(label);
    return [decoder.encoding, decoder.fatal, decoder.ignoreBOM];
  });
}
const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, i) => i);
add('decode every byte as windows-1252', ({ TextDecoder }) => new TextDecoder('windows-1252').decode(ALL_BYTES));

const BUFFER = bytes(0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68).buffer;
const SOURCES = {
  buffer: BUFFER,
  'part of a buffer': new Uint8Array(BUFFER, 1, 3),
  'data view': new DataView(BUFFER, 2, 4),
  'wide elements': new Uint16Array(BUFFER, 2, 2),
  string: 'abc',
  array: [97],
  null: null,
};
for (const [name, source] of Object.entries(SOURCES)) {
  add(`decode a ${name}`, ({ TextDecoder }) => new TextDecoder().decode(source));
}
add('decode nothing', ({ TextDecoder }) => new TextDecoder().decode());
add('a decoder is as new after a fatal error', ({ TextDecoder }) => {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let thrown = '';
  try {
    decoder.decode(UTF8.surrogates);
  } catch (error) {
    thrown = error.name;
  }
  return [thrown, decoder.decode(UTF8['only a mark']), decoder.decode(UTF8.mark)];
});
add('a foreign this', ({ TextDecoder }) => ({ __proto__: TextDecoder.prototype }).decode());
const TAG = Symbol.toStringTag;
add('the tags', ({ TextDecoder, TextEncoder }) => [TextDecoder.prototype[TAG], TextEncoder.prototype[TAG]]);

export default cases;
