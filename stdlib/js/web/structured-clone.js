// structuredClone: a deep copy of what the HTML standard calls serializable, cycles and shared references kept.
import {
  ArrayBuffer, ArrayBufferIsView, ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeGetMaxByteLength,
  ArrayBufferPrototypeGetResizable, ArrayBufferPrototypeTransfer, ArrayIsArray, ArrayPrototype, BigIntPrototypeValueOf,
  BooleanPrototypeValueOf, DOMException, DOMExceptionPrototypeGetMessage, DOMExceptionPrototypeGetName, DataView,
  DataViewPrototypeGetBuffer, DataViewPrototypeGetByteLength, DataViewPrototypeGetByteOffset, Date,
  DatePrototypeGetTime, Error, EvalError, IteratorPrototype, Map, MapPrototypeForEach, MapPrototypeGet,
  MapPrototypeGetSize, MapPrototypeSet, NumberPrototypeValueOf, Object, ObjectGetOwnPropertyDescriptor,
  ObjectGetPrototypeOf, ObjectHasOwn, ObjectKeys, ObjectPrototype, ObjectPrototypeIsPrototypeOf, ObjectSetPrototypeOf,
  Promise, RangeError, ReferenceError, RegExp, RegExpPrototypeGetSource, Set, SetPrototypeAdd, SetPrototypeForEach,
  SetPrototypeGetSize, StringPrototypeValueOf, SymbolPrototypeValueOf, SyntaxError, TypeError,
  TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteOffset, TypedArrayPrototypeGetLength,
  TypedArrayPrototypeGetTag, TypedArrayPrototypeSet, URIError, Uint8Array, WeakMap, WeakRef, WeakSet, defineHidden,
  errorStack, isBranded, isObject, listFrom, newList, regExpFlags, toString, typedArrays,
} from './primordials.js';
import { AbortController, AbortSignal } from './abort.js';
import { URLSearchParams } from './search-params.js';
import { TextDecoder, TextEncoder } from './text-codec.js';
import { URL } from './url.js';

const ERRORS = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

// Objects that would come out as an empty object: refused, so that nothing is lost in silence.
const NOT_CLONEABLE = [
  Promise,
  WeakMap,
  WeakRef,
  WeakSet,
  URL,
  URLSearchParams,
  TextEncoder,
  TextDecoder,
  AbortController,
  AbortSignal,
];

const cloneError = (what) => new DOMException(what + ' could not be cloned.', 'DataCloneError');

const refuseNotCloneable = (value) => {
  if (isBranded(SymbolPrototypeValueOf, value)) throw cloneError('A Symbol object');
  if (ObjectPrototypeIsPrototypeOf(IteratorPrototype, value)) throw cloneError('An iterator');
  for (let i = 0; i < NOT_CLONEABLE.length; i++) {
    if (ObjectPrototypeIsPrototypeOf(NOT_CLONEABLE[i].prototype, value)) {
      throw cloneError('An instance of ' + NOT_CLONEABLE[i].name);
    }
  }
};

const copyBuffer = (buffer) => {
  let bytes;
  try {
    bytes = new Uint8Array(buffer);
  } catch {
    throw cloneError('A detached ArrayBuffer');
  }
  const options = ArrayBufferPrototypeGetResizable(buffer)
    ? { __proto__: null, maxByteLength: ArrayBufferPrototypeGetMaxByteLength(buffer) }
    : undefined;
  const copy = new ArrayBuffer(ArrayBufferPrototypeGetByteLength(buffer), options);
  TypedArrayPrototypeSet(new Uint8Array(copy), bytes);
  return copy;
};

/**
 * One cloning. It does not recurse: `clone` makes an object's shell and queues it, `run` fills shells until none is
 * left, so that depth costs no stack. Shells have no prototype while they are filled (see primordials.js, rule 4).
 */
class Cloner {
  #clones = new Map();
  #queue = newList();

  run(value) {
    const result = this.#clone(value);
    for (let i = 0; i < this.#queue.length; i++) {
      this.#queue[i]();
      this.#queue[i] = undefined;
    }
    return result;
  }

  #clone(value) {
    if (typeof value === 'function') throw cloneError('A function');
    if (typeof value === 'symbol') throw cloneError('A symbol');
    if (!isObject(value)) return value;
    const known = MapPrototypeGet(this.#clones, value);
    if (known !== undefined) return known;
    const shell = this.#shell(value);
    MapPrototypeSet(this.#clones, value, shell);
    return shell;
  }

  #shell(value) {
    if (ArrayIsArray(value)) {
      const list = newList();
      list.length = value.length;
      return this.#later(list, () => this.#fill(value, list, ArrayPrototype));
    }
    const prototype = ObjectGetPrototypeOf(value);
    // The common case first. An exotic object whose prototype was replaced by one of these two counts as plain.
    if (prototype !== ObjectPrototype && prototype !== null) {
      const exotic = this.#exotic(value);
      if (exotic !== undefined) return exotic;
    }
    const record = { __proto__: null };
    return this.#later(record, () => this.#fill(value, record, ObjectPrototype));
  }

  #later(shell, fill) {
    this.#queue[this.#queue.length] = fill;
    return shell;
  }

  #fill(source, target, prototype) {
    const keys = ObjectKeys(source);
    for (let i = 0; i < keys.length; i++) {
      // A getter may have removed it meanwhile.
      if (ObjectHasOwn(source, keys[i])) target[keys[i]] = this.#clone(source[keys[i]]);
    }
    ObjectSetPrototypeOf(target, prototype);
  }

  #exotic(value) {
    if (ArrayBufferIsView(value)) return this.#view(value);
    if (isBranded(ArrayBufferPrototypeGetByteLength, value)) return copyBuffer(value);
    if (isBranded(MapPrototypeGetSize, value)) return this.#map(value);
    if (isBranded(SetPrototypeGetSize, value)) return this.#set(value);
    if (isBranded(DatePrototypeGetTime, value)) return new Date(DatePrototypeGetTime(value));
    if (isBranded(RegExpPrototypeGetSource, value)) {
      return new RegExp(RegExpPrototypeGetSource(value), regExpFlags(value));
    }
    if (isBranded(DOMExceptionPrototypeGetName, value)) {
      return new DOMException(DOMExceptionPrototypeGetMessage(value), DOMExceptionPrototypeGetName(value));
    }
    if (ObjectPrototypeIsPrototypeOf(Error.prototype, value)) return this.#error(value);
    if (isBranded(BooleanPrototypeValueOf, value)) return Object(BooleanPrototypeValueOf(value));
    if (isBranded(NumberPrototypeValueOf, value)) return Object(NumberPrototypeValueOf(value));
    if (isBranded(StringPrototypeValueOf, value)) return Object(StringPrototypeValueOf(value));
    if (isBranded(BigIntPrototypeValueOf, value)) return Object(BigIntPrototypeValueOf(value));
    refuseNotCloneable(value);
    return undefined;
  }

  #view(view) {
    const tag = TypedArrayPrototypeGetTag(view);
    if (tag === undefined) {
      const buffer = this.#clone(DataViewPrototypeGetBuffer(view));
      return new DataView(buffer, DataViewPrototypeGetByteOffset(view), DataViewPrototypeGetByteLength(view));
    }
    const buffer = this.#clone(TypedArrayPrototypeGetBuffer(view));
    return new typedArrays[tag](buffer, TypedArrayPrototypeGetByteOffset(view), TypedArrayPrototypeGetLength(view));
  }

  #map(map) {
    const copy = new Map();
    const entries = newList(); // as they are now: reading them may run getters that change the map
    MapPrototypeForEach(map, (value, key) => {
      entries[entries.length] = { key, value };
    });
    return this.#later(copy, () => {
      for (let i = 0; i < entries.length; i++) {
        MapPrototypeSet(copy, this.#clone(entries[i].key), this.#clone(entries[i].value));
      }
    });
  }

  #set(set) {
    const copy = new Set();
    const values = newList();
    SetPrototypeForEach(set, (value) => {
      values[values.length] = value;
    });
    return this.#later(copy, () => {
      for (let i = 0; i < values.length; i++) SetPrototypeAdd(copy, this.#clone(values[i]));
    });
  }

  // Keeps class, message, stack and cause; other properties and subclasses are lost, as in browsers.
  #error(error) {
    const ErrorClass = ERRORS[toString(error.name)] ?? Error;
    const copy = new ErrorClass();
    const message = ObjectGetOwnPropertyDescriptor(error, 'message');
    if (message !== undefined && ObjectHasOwn(message, 'value')) {
      defineHidden(copy, { __proto__: null, message: toString(message.value) });
    }
    const stack = errorStack(error);
    if (typeof stack === 'string') defineHidden(copy, { __proto__: null, stack });
    const cause = ObjectGetOwnPropertyDescriptor(error, 'cause');
    if (cause === undefined || !ObjectHasOwn(cause, 'value')) return copy;
    return this.#later(copy, () => defineHidden(copy, { __proto__: null, cause: this.#clone(cause.value) }));
  }
}

const transferListFrom = (options) => {
  const given = options?.transfer;
  const buffers = given === undefined ? newList() : listFrom(given);
  for (let i = 0; i < buffers.length; i++) {
    if (!isBranded(ArrayBufferPrototypeGetByteLength, buffers[i])) {
      throw cloneError('What transfer holds (ArrayBuffers only)');
    }
    for (let j = 0; j < i; j++) {
      if (buffers[j] === buffers[i]) throw cloneError('An ArrayBuffer that is twice in transfer');
    }
  }
  return buffers;
};

/** A deep copy. What is in `options.transfer` (ArrayBuffers only) is detached; if cloning fails, nothing is. */
export const structuredClone = function structuredClone(value, options = undefined) {
  if (arguments.length === 0) throw new TypeError('structuredClone needs a value');
  const buffers = transferListFrom(options);
  const cloner = new Cloner();
  for (let i = 0; i < buffers.length; i++) cloner.run(buffers[i]); // refuses a detached one before anything happens
  const copy = cloner.run(value);
  for (let i = 0; i < buffers.length; i++) ArrayBufferPrototypeTransfer(buffers[i]);
  return copy;
};
