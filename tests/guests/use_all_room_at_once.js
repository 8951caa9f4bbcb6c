// Ends as a clean return.
// Heap, staged messages, log and exchange buffer, each nearly full at the same time.
import Agent from 'system/agent';
import Http from 'system/http';
import Log from 'system/log';
export const exec = async () => {
  const body = new Uint8Array(10 * 2 ** 20 - 1000).fill(1);
  const text = '\u2603'.repeat(2 ** 21);
  for (let i = 0; i < 2; i++) Agent.setRootAgentPrompt('a', { prompt: text, sessionID: 's', requestID: `${i}` });
  for (let i = 0; i < 250; i++) Log.info('\u2603'.repeat(340));
  const kept = new Uint8Array(14 * 2 ** 20).fill(1);
  await Http.post('http://a.test/', body);
  return kept.length;
};
