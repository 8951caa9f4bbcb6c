// structuredClone. A case is { name, run(api), readsBuiltIns }; sources are made here, so that both implementations see the same ones.

const cases = [];
const add = (name, run, options = {}) => cases.push({ name, run, ...options });

class Point {
  constructor(x) {
    this.x = x;
  }
  get twice() {
    return this.x * 2;
  }
}
class OwnError extends RangeError {
  name = 'OwnError';
}

const shared = { n: 1 };
const cycle = { list: [], map: new Map(), set: new Set(), shared };
cycle.self = cycle;
cycle.list.push(cycle, shared, cycle.list);
cycle.map.set(cycle, cycle.map).set('shared', shared);
cycle.set.add(cycle.set).add(shared);

const sparse = [1, , undefined, 4];
sparse[9] = 'x';
sparse.extra = { a: 1 };

const buffer = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
const named = new Error('named');
named.name = 'TypeError';
const withCause = new RangeError('outer', { cause: { inner: new TypeError('in') } });
withCause.extra = 1;
const selfCause = new Error('loop');
selfCause.cause = selfCause;

const lastIndex = /a/g;
lastIndex.lastIndex = 3;
const tagged = { [Symbol.toStringTag]: 'Date', a: 1 };
let deep = {};
for (let i = 0; i < 20000; i++) deep = { deep };
const manyKeys = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, i]));

const VALUES = {
  undefined,
  null: null,
  numbers: [0, -0, NaN, Infinity, -Infinity, 1.5, 2 ** 53, 5e-324],
  strings: ['', 'aé\u{1F600}', '\ud800', '\0'],
  booleans: [true, false],
  bigints: [0n, -1n, 2n ** 80n],
  'plain object': { a: 1, b: { c: [1, [2, [3]]] }, 1: 'x', '': 0 },
  'awkward keys': JSON.parse('{"__proto__": {"x": 1}, "constructor": 1, "toString": 2, "hasOwnProperty": 3, "length": 4}'),
  'no prototype': Object.assign(Object.create(null), { a: 1 }),
  'inherited, hidden and symbol keys': Object.create({ up: 1 }, {
    own: { value: 1, enumerable: true },
    hidden: { value: 2 },
    [Symbol('s')]: { value: 3, enumerable: true },
  }),
  getter: { get a() { return [1]; } },
  'class instance': new Point(3),
  frozen: Object.freeze({ a: Object.freeze([1]) }),
  'a tag that lies': tagged,
  'empty and full arrays': [[], [undefined, null], Array(3)],
  'sparse array with a property': sparse,
  match: /(?<y>a)(b)?/.exec('xa'),
  cycle,
  'shared reference': { a: shared, b: [shared, shared] },
  map: new Map([[1, { a: 1 }], ['k', new Map()], [{ o: 1 }, NaN], [NaN, -0]]),
  set: new Set([1, 'a', { a: 1 }, NaN, undefined]),
  'map with a property': Object.assign(new Map([[1, 2]]), { lost: 1 }),
  dates: [new Date(0), new Date(1e12), new Date(NaN)],
  'regular expressions': [/a/, /a\/b/dgimsuy, /[\p{L}--[a]]/v, lastIndex],
  wrappers: [Object(true), Object(1), Object(-0), Object('ab'), Object(1n)],
  errors: [new Error('a'), new EvalError('b'), new RangeError('c'), new ReferenceError('d'), new SyntaxError('e'), new TypeError('f'), new URIError('g')],
  'error without message': new Error(),
  'error of an own class': new OwnError('h'),
  'error with another name': named,
  'error with cause': withCause,
  'error that is its own cause': selfCause,
  'aggregate error': new AggregateError([1], 'i'),
  buffer,
  'resizable buffer': new ArrayBuffer(4, { maxByteLength: 9 }),
  'empty buffer': new ArrayBuffer(0),
  'typed arrays': [
    new Int8Array([-1]), new Uint8Array([255]), new Uint8ClampedArray([255]), new Int16Array([-1]), new Uint16Array([65535]), new Int32Array([-1]),
    new Uint32Array([4294967295]), new Float32Array([0.5]), new Float64Array([0.1, NaN]), new BigInt64Array([-1n]), new BigUint64Array([1n]),
  ],
  'views of one buffer': [new Uint8Array(buffer, 1, 3), new Uint16Array(buffer, 2, 2), new DataView(buffer, 4, 2), buffer],
  'many keys': manyKeys,
  arguments: (function () { return arguments; })(1, 2).length,
  namespace: Math,
};
for (const [name, value] of Object.entries(VALUES)) {
  add(`clone ${name}`, ({ structuredClone }) => structuredClone(value));
}

const NOT_CLONEABLE = {
  function: () => 1,
  class: Point,
  'nested function': { a: [{ b() {} }] },
  symbol: Symbol('s'),
  'symbol object': Object(Symbol('s')),
  'nested symbol': [Symbol.iterator],
  promise: Promise.resolve(1),
  'weak map': new WeakMap(),
  'weak set': new WeakSet(),
  'weak reference': new WeakRef({}),
  generator: (function* () {})(),
  'map iterator': new Map().entries(),
  'map with a function': new Map([[1, () => 1]]),
  'set with a symbol': new Set([Symbol('s')]),
  'cause that is a function': new Error('x', { cause: () => 1 }),
};
for (const [name, value] of Object.entries(NOT_CLONEABLE)) {
  add(`refuse ${name}`, ({ structuredClone }) => structuredClone(value));
}
add('a getter that throws', ({ structuredClone }) => structuredClone({ get a() { throw shared; } }));
add('a getter that removes what comes next', ({ structuredClone }) => {
  const source = { get a() { delete source.b; return 1; }, b: 2, c: 3 };
  return structuredClone(source);
});
add('no argument', ({ structuredClone }) => structuredClone());
add('null as options', ({ structuredClone }) => structuredClone(1, null));
add('another copy each time', ({ structuredClone }) => {
  const copy = structuredClone(cycle);
  return [copy !== cycle, copy.self === copy, copy.list[1] === copy.shared, copy.set.has, copy.map !== cycle.map];
});
add('depth costs no stack', ({ structuredClone }) => {
  let copy = structuredClone(deep);
  let depth = 0;
  for (; copy.deep; copy = copy.deep) depth++;
  return depth;
});

const Buffer8 = ArrayBuffer;
const Bytes = Uint8Array;
const filled = (size) => {
  const made = new Buffer8(size);
  const view = new Bytes(made);
  for (let i = 0; i < size; i++) view[i] = i + 1;
  return made;
};
add('transfer detaches', ({ structuredClone }) => {
  const source = filled(3);
  const view = new Bytes(source, 1);
  const copy = structuredClone({ view, source }, { transfer: [source] });
  return [copy, source, view];
});
add('transfer of what is not part of the value', ({ structuredClone }) => {
  const source = filled(1);
  return [structuredClone('x', { transfer: [source] }), source];
});
add('transfer of a set of buffers', ({ structuredClone }) => {
  const source = filled(1);
  return [structuredClone(source, { transfer: new Set([source]) }), source];
}, { readsBuiltIns: true });
add('transfer twice', ({ structuredClone }) => {
  const source = filled(1);
  return structuredClone(source, { transfer: [source, source] });
});
add('transfer of a detached buffer', ({ structuredClone }) => {
  const source = filled(1);
  structuredClone(source, { transfer: [source] });
  return structuredClone(1, { transfer: [source] });
});
add('a detached buffer', ({ structuredClone }) => {
  const source = filled(1);
  structuredClone(source, { transfer: [source] });
  return structuredClone(source);
});
add('nothing is detached if cloning fails', ({ structuredClone }) => {
  const source = filled(2);
  try {
    return structuredClone([source, () => 1], { transfer: [source] });
  } catch {
    return source;
  }
});

export default cases;
