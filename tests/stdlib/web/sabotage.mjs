// Does what a hostile or careless script may do: replaces every built-in that can be replaced. `sabotage()` returns the
// way back. Made at load of built-ins that it holds itself, so that it does not trip over its own work.

const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
const { ownKeys } = Reflect;

const broken = () => {
  throw new Error('a built-in was looked up at run time');
};

const found = new Set();
const visit = (object) => {
  if ((typeof object !== 'object' && typeof object !== 'function') || object === null || found.has(object)) return;
  found.add(object);
  for (const key of ownKeys(object)) {
    const descriptor = getOwnPropertyDescriptor(object, key);
    for (const part of [descriptor.value, descriptor.get, descriptor.set]) visit(part);
  }
  visit(getPrototypeOf(object));
};
const GLOBALS = (
  'Object Function Array String Number Boolean Symbol BigInt Promise Map Set WeakMap WeakSet WeakRef Error TypeError RangeError SyntaxError ' +
  'Date RegExp JSON Math Reflect Proxy ArrayBuffer DataView Uint8Array Uint16Array Int8Array Float64Array DOMException isNaN parseInt ' +
  'decodeURIComponent encodeURIComponent encodeURI escape queueMicrotask'
).split(' ');
for (const name of GLOBALS) visit(globalThis[name]);
visit(getPrototypeOf([][Symbol.iterator]()));
visit(getPrototypeOf(''[Symbol.iterator]()));
visit(getPrototypeOf(new Map().entries()));
visit((function* () {})());
visit((async () => {})());

const changes = [];
const plan = (object, key, replacement) => {
  const before = getOwnPropertyDescriptor(object, key);
  if (before !== undefined && !before.configurable) return;
  if (key === 'prepareStackTrace') return; // the engine itself calls it for every error
  const after = { __proto__: null, configurable: true, enumerable: false, ...replacement };
  changes.push({ object, key, before: before && setPrototypeOf(before, null), after });
};
for (const object of found) {
  for (const key of ownKeys(object)) {
    const { value, get } = getOwnPropertyDescriptor(object, key);
    // Of functions, only their statics: `name` and `length` of each would say nothing more.
    if (typeof value === 'function') plan(object, key, { value: broken, writable: true });
    else if (get !== undefined) plan(object, key, { get: broken, set: broken });
  }
}
for (const name of GLOBALS) plan(globalThis, name, { value: broken, writable: true });
const TRAPS = [
  ...Array.from({ length: 12 }, (_, i) => `${i}`), 'get', 'set', 'value', 'writable', 'enumerable', 'configurable', 'then', 'done', 'next', 'toJSON',
  'maxByteLength', 'name', 'path', 'scheme', 'callback', 'cause', 'message', 'stack', 'high', 'low', 'key',
];
for (const key of TRAPS) {
  if (getOwnPropertyDescriptor(Object.prototype, key) === undefined) plan(Object.prototype, key, { get: broken, set: broken });
  if (key < 'A') plan(Array.prototype, key, { get: broken, set: broken });
}

export const changeCount = changes.length;

const apply = (part) => {
  for (let i = 0; i < changes.length; i++) {
    const { object, key } = changes[i];
    if (changes[i][part] === undefined) delete object[key];
    else defineProperty(object, key, changes[i][part]);
  }
};

export const sabotage = () => {
  apply('after');
  return () => apply('before');
};
