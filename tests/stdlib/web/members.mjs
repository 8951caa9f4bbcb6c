// node members.mjs MODULE CLASS: the public members of a class as JSON.
import { pathToFileURL } from 'node:url';

const [path, name] = process.argv.slice(2);
ArrayBuffer.prototype.transfer ??= () => {}; // node 20 has none; nothing here calls it
const { [name]: constructor } = await import(pathToFileURL(path).href);
const shown = (key) => (typeof key === 'symbol' ? `[${key.description}]` : key);
const members = Reflect.ownKeys(constructor.prototype).filter((key) => key !== Symbol.toStringTag).map(shown);
const statics = Object.getOwnPropertyNames(constructor).filter((key) => !['length', 'name', 'prototype'].includes(key));
console.log(JSON.stringify({ members, statics }));
