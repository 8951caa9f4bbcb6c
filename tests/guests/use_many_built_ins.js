// Ends as a clean return.
// An honest program that touches much of the engine, on both sides of an answer: what faults are injected into.
import Agent from 'system/agent';
import Http from 'system/http';
import Log from 'system/log';
import Tools from 'system/tools';

class Point {
  #x = 1;
  get x() {
    return this.#x;
  }
}
function* numbers(count) {
  for (let i = 0; i < count; i++) yield i;
}
const work = (round) => {
  const map = new Map([...numbers(50)].map((n) => [`key ${n}`, { n, list: [n, `${n}`, n / 3] }]));
  const text = JSON.stringify([...map.entries()].sort(([a], [b]) => (a < b ? 1 : -1)));
  const bytes = new TextEncoder().encode(text);
  const words = text.match(/[a-z]+ \d+/g).map((word) => word.replace(/\d+/, (digits) => Number(digits) * 2));
  const copy = structuredClone({ map: new Set(words), date: new Date(0), big: 2n ** 70n, point: new Point().x });
  return [round, text.length, bytes.length, words.length, copy.map.size, String(copy.big), new URL('?q=1', 'http://a.test/x').href];
};

export const exec = async (input, ambient, ctx) => {
  const before = work(1);
  Log.info('before', before);
  Agent.setRootAgentPrompt('main', { prompt: `${before}`, sessionID: 's', requestID: Tools.generateUUID() });
  const { body } = await Http.getJson('http://a.test/', { query: { q: 'é' }, headers: { a: 'b' } });
  ctx.progress({ at: 'middle' });
  const after = work(2);
  Log.warning('after', after, body);
  const text = await Http.getText('http://a.test/');
  dictionary.seen = [body, text.body.length];
  return { before, after, last: await Promise.all([1, Promise.resolve(2)]) };
};
