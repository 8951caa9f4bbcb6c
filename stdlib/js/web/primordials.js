// The built-ins that stdlib code uses, captured while the snapshot is made, before any script has run (SECURITY B21).
//
// Rules for every file in stdlib that runs inside a call:
//   1. Import globals from here (`import { TypeError } from './primordials.js'`): a script can overwrite the globals.
//   2. Call methods through these functions: `StringPrototypeSlice(s, 1)`, not `s.slice(1)`. Nor `x.length` of a typed
//      array, `map.size`, a regular expression, `instanceof`: all of them look something up that a script can replace.
//   3. No for..of, no spread, no array destructuring: they go through `Symbol.iterator`. Rest parameters are safe. No
//      template with a substitution: the engine compiles it to a call of `String.prototype.concat`. `a + b` is safe.
//   4. Grow only null-prototype lists (`newList`): a setter for "0" on Array.prototype would see a write to a plain
//      array, and `push` goes the same way. Descriptors and option objects are `{ __proto__: null, … }`.
//   5. Read a property of foreign or parsed data with `ownValue`, so that Object.prototype cannot supply it.
//   6. Await only promises of `newDeferred`, of `protectPromise`, or made by an async function and protected: `await`
//      asks `promise.constructor`, and if that was replaced, the patched `then`.

const g = globalThis;
const { bind, call } = Function.prototype;

/** `uncurryThis(method)(self, ...args)` is `self.method(...args)` with the method of now. */
export const uncurryThis = bind.bind(call);

const getterOf = (object, key) => uncurryThis(g.Object.getOwnPropertyDescriptor(object, key).get);

export const Array = g.Array;
export const ArrayBuffer = g.ArrayBuffer;
export const BigInt = g.BigInt;
export const DOMException = g.DOMException;
export const DataView = g.DataView;
export const Date = g.Date;
export const Error = g.Error;
export const EvalError = g.EvalError;
export const Map = g.Map;
export const Number = g.Number;
export const Object = g.Object;
export const Promise = g.Promise;
export const RangeError = g.RangeError;
export const ReferenceError = g.ReferenceError;
export const RegExp = g.RegExp;
export const Set = g.Set;
export const String = g.String;
export const Symbol = g.Symbol;
export const SyntaxError = g.SyntaxError;
export const TypeError = g.TypeError;
export const URIError = g.URIError;
export const Uint8Array = g.Uint8Array;
export const Uint16Array = g.Uint16Array;
export const WeakMap = g.WeakMap;
export const WeakRef = g.WeakRef;
export const WeakSet = g.WeakSet;

export const ArrayIsArray = Array.isArray;
export const ArrayPrototype = Array.prototype;
export const ArrayPrototypeSort = uncurryThis(ArrayPrototype.sort);

export const ArrayBufferIsView = ArrayBuffer.isView;
export const ArrayBufferPrototypeGetByteLength = getterOf(ArrayBuffer.prototype, 'byteLength');
export const ArrayBufferPrototypeGetMaxByteLength = getterOf(ArrayBuffer.prototype, 'maxByteLength');
export const ArrayBufferPrototypeGetResizable = getterOf(ArrayBuffer.prototype, 'resizable');
export const ArrayBufferPrototypeTransfer = uncurryThis(ArrayBuffer.prototype.transfer);

export const BigIntPrototypeValueOf = uncurryThis(BigInt.prototype.valueOf);
export const BooleanPrototypeValueOf = uncurryThis(g.Boolean.prototype.valueOf);
export const DOMExceptionPrototypeGetMessage = getterOf(DOMException.prototype, 'message');
export const DOMExceptionPrototypeGetName = getterOf(DOMException.prototype, 'name');
export const DataViewPrototypeGetBuffer = getterOf(DataView.prototype, 'buffer');
export const DataViewPrototypeGetByteLength = getterOf(DataView.prototype, 'byteLength');
export const DataViewPrototypeGetByteOffset = getterOf(DataView.prototype, 'byteOffset');
export const DatePrototypeGetTime = uncurryThis(Date.prototype.getTime);

/** `OrdinaryHasInstance(type, value)`: `value instanceof type` without asking `type`. */
export const FunctionPrototypeHasInstance = uncurryThis(Function.prototype[Symbol.hasInstance]);

/** What every built-in iterator and generator inherits from. */
export const IteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));

export const JSONParse = g.JSON.parse;
export const JSONStringify = g.JSON.stringify;

export const MapPrototypeForEach = uncurryThis(Map.prototype.forEach);
export const MapPrototypeGet = uncurryThis(Map.prototype.get);
export const MapPrototypeGetSize = getterOf(Map.prototype, 'size');
export const MapPrototypeSet = uncurryThis(Map.prototype.set);

export const NumberIsFinite = Number.isFinite;
export const NumberIsInteger = Number.isInteger;
export const NumberPrototypeToString = uncurryThis(Number.prototype.toString);
export const NumberPrototypeValueOf = uncurryThis(Number.prototype.valueOf);

export const ObjectDefineProperty = Object.defineProperty;
export const ObjectFreeze = Object.freeze;
export const ObjectGetOwnPropertyDescriptor = Object.getOwnPropertyDescriptor;
export const ObjectGetPrototypeOf = Object.getPrototypeOf;
export const ObjectHasOwn = Object.hasOwn;
export const ObjectKeys = Object.keys;
export const ObjectPrototype = Object.prototype;
export const ObjectPrototypeIsPrototypeOf = uncurryThis(ObjectPrototype.isPrototypeOf);
export const ObjectSetPrototypeOf = Object.setPrototypeOf;

export const ReflectApply = g.Reflect.apply;
export const ReflectOwnKeys = g.Reflect.ownKeys;

export const RegExpPrototypeGetSource = getterOf(RegExp.prototype, 'source');

export const SetPrototypeAdd = uncurryThis(Set.prototype.add);
export const SetPrototypeForEach = uncurryThis(Set.prototype.forEach);
export const SetPrototypeGetSize = getterOf(Set.prototype, 'size');

export const StringFromCharCode = String.fromCharCode;
export const StringPrototypeCharCodeAt = uncurryThis(String.prototype.charCodeAt);
export const StringPrototypeCodePointAt = uncurryThis(String.prototype.codePointAt);
export const StringPrototypeEndsWith = uncurryThis(String.prototype.endsWith);
export const StringPrototypeIncludes = uncurryThis(String.prototype.includes);
export const StringPrototypeIndexOf = uncurryThis(String.prototype.indexOf);
export const StringPrototypeLastIndexOf = uncurryThis(String.prototype.lastIndexOf);
export const StringPrototypeSlice = uncurryThis(String.prototype.slice);
export const StringPrototypeStartsWith = uncurryThis(String.prototype.startsWith);
export const StringPrototypeToLowerCase = uncurryThis(String.prototype.toLowerCase);
export const StringPrototypeToUpperCase = uncurryThis(String.prototype.toUpperCase);
export const StringPrototypeToWellFormed = uncurryThis(String.prototype.toWellFormed);
export const StringPrototypeValueOf = uncurryThis(String.prototype.valueOf);

export const SymbolIterator = Symbol.iterator;
export const SymbolPrototypeValueOf = uncurryThis(Symbol.prototype.valueOf);
export const SymbolToStringTag = Symbol.toStringTag;

const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
export const TypedArrayPrototypeGetBuffer = getterOf(TypedArrayPrototype, 'buffer');
export const TypedArrayPrototypeGetByteLength = getterOf(TypedArrayPrototype, 'byteLength');
export const TypedArrayPrototypeGetByteOffset = getterOf(TypedArrayPrototype, 'byteOffset');
export const TypedArrayPrototypeGetLength = getterOf(TypedArrayPrototype, 'length');
/** The name of a typed array's class, undefined for anything else. */
export const TypedArrayPrototypeGetTag = getterOf(TypedArrayPrototype, Symbol.toStringTag);
export const TypedArrayPrototypeSet = uncurryThis(TypedArrayPrototype.set);

export const decodeURIComponent = g.decodeURIComponent;
export const encodeURIComponent = g.encodeURIComponent;

/** An empty list for our own use: an array without a prototype, grown by `list[list.length] = value`. */
export const newList = () => ObjectSetPrototypeOf([], null);

/** Turns a `newList` into an ordinary array, to be handed to the script. The same object; do not grow it afterwards. */
export const toArray = (list) => ObjectSetPrototypeOf(list, ArrayPrototype);

/** The value of an own property, undefined if there is none: Object.prototype is not asked. */
export const ownValue = (object, key) => (ObjectHasOwn(object, key) ? object[key] : undefined);

/** The typed array classes of this engine by name. */
export const typedArrays = { __proto__: null };
const typedArrayNames = 'Int8 Uint8 Uint8Clamped Int16 Uint16 Int32 Uint32 Float16 Float32 Float64 BigInt64 BigUint64';
for (const kind of typedArrayNames.split(' ')) {
  const name = kind + 'Array';
  if (name in g) typedArrays[name] = g[name];
}

const flagGetters = [];
for (const [key, letter] of Object.entries({
  hasIndices: 'd',
  global: 'g',
  ignoreCase: 'i',
  multiline: 'm',
  dotAll: 's',
  unicode: 'u',
  unicodeSets: 'v',
  sticky: 'y',
})) {
  flagGetters.push({ get: getterOf(RegExp.prototype, key), letter });
}

/** The flags of a regular expression; its own `flags` asks eight getters that a script can replace. */
export const regExpFlags = (regExp) => {
  let flags = '';
  for (let i = 0; i < flagGetters.length; i++) {
    const { get } = flagGetters[i];
    if (get(regExp)) flags += flagGetters[i].letter;
  }
  return flags;
};

/** `value` as a string; a symbol throws, as it does in a template. */
export const toString = (value) => {
  if (typeof value === 'symbol') throw new TypeError('A symbol cannot be turned into a string');
  return String(value);
};

/** `toString` with lone surrogates replaced by U+FFFD. */
export const toText = (value) => StringPrototypeToWellFormed(toString(value));

// Some engines have `stack` on the prototype, others on each error.
const prototypeStack = Object.getOwnPropertyDescriptor(Error.prototype, 'stack')?.get;

/** An error's stack (whatever a script has put there, mostly a string), undefined if it has none. */
export const errorStack = (error) => {
  const own = ObjectGetOwnPropertyDescriptor(error, 'stack');
  if (own !== undefined && ObjectHasOwn(own, 'value')) return own.value;
  const getter = own === undefined ? prototypeStack : own.get;
  return getter === undefined ? undefined : ReflectApply(getter, error, []);
};

/** True for objects and functions. */
export const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

/** Runs a getter or method that throws for a foreign class: whether `value` has the class that it belongs to. */
export const isBranded = (probe, value) => {
  try {
    probe(value);
    return true;
  } catch {
    return false;
  }
};

/** A Uint8Array over the bytes of an ArrayBuffer, typed array or DataView, not a copy; null for anything else. */
export const bytesOf = (source) => {
  let buffer = source;
  let offset = 0;
  let length;
  if (!ArrayBufferIsView(source)) {
    if (!isBranded(ArrayBufferPrototypeGetByteLength, source)) return null;
    length = ArrayBufferPrototypeGetByteLength(source);
  } else if (TypedArrayPrototypeGetTag(source) !== undefined) {
    buffer = TypedArrayPrototypeGetBuffer(source);
    offset = TypedArrayPrototypeGetByteOffset(source);
    length = TypedArrayPrototypeGetByteLength(source);
  } else {
    buffer = DataViewPrototypeGetBuffer(source);
    offset = DataViewPrototypeGetByteOffset(source);
    length = DataViewPrototypeGetByteLength(source);
  }
  return length === 0 ? new Uint8Array(0) : new Uint8Array(buffer, offset, length); // 0: perhaps detached
};

/** The elements of a script's iterable as a new list. An array is read by index, whatever became of its iterator. */
export const listFrom = (iterable) => {
  const list = newList();
  if (ArrayIsArray(iterable)) {
    for (let i = 0; i < iterable.length; i++) list[i] = iterable[i];
    return list;
  }
  const iterator = iterable[SymbolIterator]();
  const next = iterator.next;
  for (;;) {
    const step = ReflectApply(next, iterator, []);
    if (step.done) return list;
    list[list.length] = step.value;
  }
};

/** Names a class for Object.prototype.toString, as the web's classes do. */
export const tagClass = (constructor, name) => {
  ObjectDefineProperty(constructor.prototype, SymbolToStringTag, { __proto__: null, value: name, configurable: true });
};

/** Defines properties as browsers do for globals and methods: writable, configurable, not enumerable. */
export const defineHidden = (target, properties) => {
  const keys = ReflectOwnKeys(properties);
  for (let i = 0; i < keys.length; i++) {
    ObjectDefineProperty(target, keys[i], {
      __proto__: null,
      value: properties[keys[i]],
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
  return target;
};

/**
 * Makes `await promise` immune to a patched Promise.prototype: gives the promise its own `constructor`, so that await
 * takes it as it is and never looks up `then`. Returns the same promise.
 */
export const protectPromise = (promise) =>
  ObjectDefineProperty(promise, 'constructor', { __proto__: null, value: Promise, configurable: true });

/** A protected promise with its two functions: `{ promise, resolve, reject }`. */
export const newDeferred = () => {
  const deferred = { __proto__: null, promise: undefined, resolve: undefined, reject: undefined };
  deferred.promise = protectPromise(
    new Promise((resolve, reject) => {
      deferred.resolve = resolve;
      deferred.reject = reject;
    }),
  );
  return deferred;
};

const settle = async (promise, onFulfilled, onRejected) => {
  let value;
  try {
    value = await promise;
  } catch (error) {
    if (onRejected === undefined) throw error;
    return onRejected(error);
  }
  return onFulfilled === undefined ? value : onFulfilled(value);
};

/** `promise.then(onFulfilled, onRejected)` of a native promise, whatever the script made of `then` and species. */
export const promiseThen = (promise, onFulfilled, onRejected) =>
  protectPromise(settle(protectPromise(promise), onFulfilled, onRejected));
