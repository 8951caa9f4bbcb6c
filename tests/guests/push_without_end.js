// Ends as cpu-exceeded.
import Agent from 'system/agent';
export const exec = () => {
  for (;;) {
    try {
      Agent.setRootAgentPrompt('a', { prompt: 'x'.repeat(1000), sessionID: 's', requestID: 'r' });
    } catch {
      // refused
    }
  }
};
