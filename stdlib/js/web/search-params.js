// URLSearchParams: the name-value pairs of a query, on its own or live as part of a URL.
import {
  ArrayIsArray, ArrayPrototypeSort, Map, MapPrototypeForEach, MapPrototypeGet, MapPrototypeGetSize, MapPrototypeSet,
  ObjectGetOwnPropertyDescriptor, ReflectApply, ReflectOwnKeys, StringPrototypeIndexOf, StringPrototypeSlice,
  StringPrototypeStartsWith, SymbolIterator, TypeError, isBranded, isObject, listFrom, newList, tagClass, toArray,
  toText,
} from './primordials.js';
import { splitOn } from './host.js';
import { FORM, percentDecode, percentEncode, replaceEach } from './percent.js';

const decodeForm = (text) => percentDecode(replaceEach(text, '+', ' '));

/** The pairs of a query without its "?", as a list of `{ name, value }`. */
export const parseQuery = (query) => {
  const pairs = newList();
  const parts = splitOn(query, '&');
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part === '') continue;
    const equals = StringPrototypeIndexOf(part, '=');
    pairs[pairs.length] = {
      name: decodeForm(equals < 0 ? part : StringPrototypeSlice(part, 0, equals)),
      value: equals < 0 ? '' : decodeForm(StringPrototypeSlice(part, equals + 1)),
    };
  }
  return pairs;
};

/** The query of a list of pairs, without "?". */
export const serializeQuery = (pairs) => {
  let query = '';
  for (let i = 0; i < pairs.length; i++) {
    if (i > 0) query += '&';
    query += percentEncode(pairs[i].name, FORM) + '=' + percentEncode(pairs[i].value, FORM);
  }
  return query;
};

const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

const requireArguments = (given, needed) => {
  if (given < needed) throw new TypeError('Arguments needed: ' + needed + ', given: ' + given);
};

const pairFrom = (entry) => {
  const parts = isObject(entry) ? listFrom(entry) : newList();
  if (parts.length !== 2) throw new TypeError('Each query pair must be an iterable [name, value] tuple');
  return { name: toText(parts[0]), value: toText(parts[1]) };
};

// A record of names and values; a later key that reads the same replaces the earlier value, as in a WebIDL record.
const pairsFromRecord = (record) => {
  const pairs = newList();
  const places = new Map();
  const keys = ReflectOwnKeys(record);
  for (let i = 0; i < keys.length; i++) {
    if (!ObjectGetOwnPropertyDescriptor(record, keys[i])?.enumerable) continue;
    const name = toText(keys[i]);
    const value = toText(record[keys[i]]);
    const at = MapPrototypeGet(places, name) ?? pairs.length;
    MapPrototypeSet(places, name, at);
    pairs[at] = { name, value };
  }
  return pairs;
};

let bind;

export class URLSearchParams {
  #pairs = newList();
  #onChange = null;

  static {
    tagClass(this, 'URLSearchParams');
    bind = (params, pairs, onChange) => {
      params.#pairs = pairs;
      params.#onChange = onChange;
    };
  }

  constructor(init = '') {
    if (!isObject(init)) {
      const query = toText(init);
      this.#pairs = parseQuery(StringPrototypeStartsWith(query, '?') ? StringPrototypeSlice(query, 1) : query);
    } else if (#pairs in init) {
      this.#copy(init.#pairs);
    } else if (isBranded(MapPrototypeGetSize, init)) {
      MapPrototypeForEach(init, (value, name) => this.#add(toText(name), toText(value)));
    } else if (ArrayIsArray(init) || (init[SymbolIterator] ?? null) !== null) {
      const entries = listFrom(init);
      for (let i = 0; i < entries.length; i++) this.#pairs[i] = pairFrom(entries[i]);
    } else {
      this.#pairs = pairsFromRecord(init);
    }
  }

  #add(name, value) {
    this.#pairs[this.#pairs.length] = { name, value };
  }

  #copy(pairs) {
    for (let i = 0; i < pairs.length; i++) this.#add(pairs[i].name, pairs[i].value);
  }

  #changed() {
    if (this.#onChange !== null) this.#onChange(serializeQuery(this.#pairs));
  }

  // Keeps the pairs for which `keep` is true.
  #filter(keep) {
    const pairs = this.#pairs;
    let kept = 0;
    for (let i = 0; i < pairs.length; i++) {
      if (keep(pairs[i])) pairs[kept++] = pairs[i];
    }
    pairs.length = kept;
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    requireArguments(arguments.length, 2);
    this.#add(toText(name), toText(value));
    this.#changed();
  }

  delete(name, value = undefined) {
    requireArguments(arguments.length, 1);
    const search = toText(name);
    const only = value === undefined ? undefined : toText(value);
    this.#filter((pair) => pair.name !== search || (only !== undefined && pair.value !== only));
    this.#changed();
  }

  get(name) {
    requireArguments(arguments.length, 1);
    const search = toText(name);
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i++) {
      if (pairs[i].name === search) return pairs[i].value;
    }
    return null;
  }

  getAll(name) {
    requireArguments(arguments.length, 1);
    const search = toText(name);
    const pairs = this.#pairs;
    const values = newList();
    for (let i = 0; i < pairs.length; i++) {
      if (pairs[i].name === search) values[values.length] = pairs[i].value;
    }
    return toArray(values);
  }

  has(name, value = undefined) {
    requireArguments(arguments.length, 1);
    const search = toText(name);
    const only = value === undefined ? undefined : toText(value);
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i++) {
      if (pairs[i].name === search && (only === undefined || pairs[i].value === only)) return true;
    }
    return false;
  }

  set(name, value) {
    requireArguments(arguments.length, 2);
    const search = toText(name);
    const text = toText(value);
    let found = false;
    this.#filter((pair) => {
      if (pair.name !== search) return true;
      const isFirst = !found;
      found = true;
      if (isFirst) pair.value = text;
      return isFirst;
    });
    if (!found) this.#add(search, text);
    this.#changed();
  }

  sort() {
    ArrayPrototypeSort(this.#pairs, byName);
    this.#changed();
  }

  forEach(callback, thisArg = undefined) {
    requireArguments(arguments.length, 1);
    if (typeof callback !== 'function') throw new TypeError('The callback must be a function');
    for (let i = 0; i < this.#pairs.length; i++) {
      ReflectApply(callback, thisArg, [this.#pairs[i].value, this.#pairs[i].name, this]);
    }
  }

  *entries() {
    for (let i = 0; i < this.#pairs.length; i++) yield [this.#pairs[i].name, this.#pairs[i].value];
  }

  *keys() {
    for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i].name;
  }

  *values() {
    for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i].value;
  }

  *[SymbolIterator]() {
    for (let i = 0; i < this.#pairs.length; i++) yield [this.#pairs[i].name, this.#pairs[i].value];
  }

  toString() {
    return serializeQuery(this.#pairs);
  }
}

/** Gives `params` other pairs, and a function that is told the new query at each change. */
export const bindSearchParams = (params, pairs, onChange) => bind(params, pairs, onChange);
