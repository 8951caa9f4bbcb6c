// Ends as cpu-exceeded.
import Log from 'system/log';
export const exec = () => {
  for (;;) Log.info('again');
};
