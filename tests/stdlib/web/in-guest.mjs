// A tool that runs one suite inside the wall: { digests of all cases, cases that answer otherwise under sabotage }.
import { digest, outcomeOf, showOutcome } from './show.mjs';
import { sabotage } from './sabotage.mjs';
import abort from './cases-abort.mjs';
import clone from './cases-clone.mjs';
import codec from './cases-codec.mjs';
import searchParams from './cases-search-params.mjs';
import url from './cases-url.mjs';

const SUITES = { url, 'search-params': searchParams, codec, clone, abort };
const api = { URL, URLSearchParams, TextEncoder, TextDecoder, structuredClone, AbortController, AbortSignal };

export const exec = (suite) => {
  const digests = {};
  const sabotaged = {};
  for (const { name, run, readsBuiltIns = false } of SUITES[suite]) {
    const calm = showOutcome(outcomeOf(run, api));
    digests[name] = digest(calm);
    if (readsBuiltIns) continue;
    const restore = sabotage();
    const outcome = outcomeOf(run, api);
    restore();
    const shown = showOutcome(outcome);
    if (shown !== calm) sabotaged[name] = { calm: calm.slice(0, 200), sabotaged: shown.slice(0, 200) };
  }
  return { digests, sabotaged };
};
