// node compare.mjs MODULES SUITE: prints as JSON what differs between our web basics and node's own, and between ours
// before and while every built-in is sabotaged.
import { pathToFileURL } from 'node:url';
import { digest, outcomeOf, showOutcome } from './show.mjs';
import { changeCount, sabotage } from './sabotage.mjs';

const [folder, suite] = process.argv.slice(2);
const native = { URL, URLSearchParams, TextEncoder, TextDecoder, structuredClone, AbortController, AbortSignal };

// Node 20 has structuredClone but not yet the method that ours detaches buffers with.
ArrayBuffer.prototype.transfer ??= function () {
  return native.structuredClone(this, { transfer: [this] });
};

const ours = {};
for (const name of ['url', 'search-params', 'text-codec', 'structured-clone', 'abort']) {
  Object.assign(ours, await import(pathToFileURL(`${folder}/${name}.js`).href));
}
const { default: cases } = await import(`./cases-${suite}.mjs`);

const differences = {};
const digests = {};
const sabotaged = {};
let sabotagedCount = 0;
for (const { name, run, readsBuiltIns = false } of cases) {
  const expected = showOutcome(outcomeOf(run, native));
  const actual = showOutcome(outcomeOf(run, ours));
  digests[name] = digest(actual);
  if (actual !== expected) differences[name] = { node: expected, ours: actual };
  if (readsBuiltIns) continue;
  sabotagedCount++;
  const restore = sabotage();
  const outcome = outcomeOf(run, ours);
  restore();
  const shown = showOutcome(outcome);
  if (shown !== actual) sabotaged[name] = { calm: actual, sabotaged: shown, stack: outcome.thrown?.stack };
}

// What sabotage breaks, so that a sabotage that does nothing would be seen.
const NAIVE = {
  'string method': () => 'abc'.slice(1),
  'array method': () => [1].join(),
  getter: () => new Map().size,
  iteration: () => [...[1]],
  'element setter': () => {
    [][0] = 1;
  },
  global: () => new Map(),
  'regular expression': () => /a/.test('a'),
  descriptor: () => Object.defineProperty({}, 'a', {}),
};
const broken = [];
for (const [name, run] of Object.entries(NAIVE)) {
  const restore = sabotage();
  const outcome = outcomeOf(run);
  restore();
  if (outcome.thrown !== undefined) broken.push(name);
}
const intact = Object.keys(NAIVE).filter((name) => !broken.includes(name));

console.log(JSON.stringify({ count: cases.length, sabotagedCount, changeCount, intact, differences, digests, sabotaged }));
