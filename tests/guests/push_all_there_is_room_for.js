// Ends as threw.
import Agent from 'system/agent';
import Log from 'system/log';
export const exec = () => {
  for (let i = 0; i < 20; i++) {
    try {
      Agent.setRootAgentPrompt('a', { prompt: '\u2603'.repeat(2 ** 20), sessionID: 's', requestID: 'r' });
    } catch {
      // beyond staged_mib
    }
  }
  for (let i = 0; i < 1000; i++) Log.info('\u2603'.repeat(80));
  throw new Error('and nothing of it is written');
};
