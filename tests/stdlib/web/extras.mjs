// node extras.mjs MODULES: facts that node cannot be the oracle of, as one JSON object.
import { pathToFileURL } from 'node:url';
import { show, outcomeOf, showOutcome } from './show.mjs';

const [folder] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}.js`).href);
const transferNatively = globalThis.structuredClone;
ArrayBuffer.prototype.transfer ??= function () {
  return transferNatively(this, { transfer: [this] });
};
const { URL } = await load('url');
const { URLSearchParams } = await load('search-params');
const { TextDecoder } = await load('text-codec');
const { structuredClone } = await load('structured-clone');
const { AbortController, AbortSignal, abortSignal, newAbortSignal } = await load('abort');
const { newDeferred, promiseThen } = await load('primordials');

const facts = {};
const of = (name, run) => {
  facts[name] = showOutcome(outcomeOf(run));
};

of('URL.parse', () => [URL.parse('x', 'http://h/a')?.href, URL.parse('nonsense'), URL.parse('x', 'y')]);
of('message of a bad URL', () => outcomeOf(() => new URL('x y', 'z')).thrown.message);
of('message of a long bad URL', () => outcomeOf(() => new URL('x'.repeat(1e6))).thrown.message.length);
of('message of a bad label', () => outcomeOf(() => new TextDecoder('koi8-r')).thrown.message);
of('clone of a DOMException', () => structuredClone(new DOMException('m', 'AbortError')));
for (const [name, value] of Object.entries({ URL: new URL('a:b'), URLSearchParams: new URLSearchParams(), AbortSignal: AbortSignal.abort() })) {
  of(`clone of ${name}`, () => outcomeOf(() => structuredClone({ value })).thrown.message);
}
of('AbortSignal.timeout', () => typeof AbortSignal.timeout);
of('abort from the host', () => {
  const signal = newAbortSignal();
  const seen = [];
  signal.addEventListener('abort', () => seen.push(signal.reason));
  abortSignal(signal, 'silent');
  abortSignal(signal, 'again');
  return [signal instanceof AbortSignal, seen];
});
of('every byte as windows-1252', () => new TextDecoder('latin1').decode(Uint8Array.from({ length: 256 }, (_, i) => i)));

const rejections = [];
process.on('unhandledRejection', (reason) => rejections.push(reason));
of('a listener that throws does not stop the next', () => {
  const controller = new AbortController();
  const seen = [];
  controller.signal.addEventListener('abort', () => {
    throw 'thrown';
  });
  controller.signal.addEventListener('abort', () => seen.push('next'));
  controller.abort();
  return seen;
});
await new Promise((resolve) => setImmediate(resolve));
facts['what a listener throws'] = show(rejections);

// An await that looked up `then` or `constructor` of a patched promise would go astray. In a turn of its own, as node's
// module loader awaits promises in the ordinary way until this module has ended.
const awaitPatched = () => {
  const OrdinaryPromise = Promise;
  const broken = () => {
    throw new Error('looked up');
  };
  for (const key of ['then', 'catch', 'finally', 'constructor']) {
    Object.defineProperty(Promise.prototype, key, { configurable: true, get: broken });
  }
  Object.defineProperty(Promise, Symbol.species, { configurable: true, get: broken });
  globalThis.Promise = broken;
  const ok = newDeferred();
  const bad = newDeferred();
  const tell = async () => {
    const first = await ok.promise;
    const second = await promiseThen(bad.promise, undefined, (reason) => `caught ${reason}`);
    const third = await promiseThen(promiseThen(ok.promise), (value) => `${value}!`);
    facts['patched promises'] = `${first}, ${second}, ${third}`;
  };
  facts['an ordinary promise'] = 'never settled';
  const watch = async () => {
    try {
      await OrdinaryPromise.resolve(1);
      facts['an ordinary promise'] = 'unharmed';
    } catch {
      facts['an ordinary promise'] = 'astray';
    }
  };
  tell();
  watch();
  ok.resolve('fine');
  bad.reject('bad');
  setImmediate(() => console.log(JSON.stringify(facts)));
};
setImmediate(awaitPatched);
