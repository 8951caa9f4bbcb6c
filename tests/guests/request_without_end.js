// Ends as memory-exceeded.
// All but the first are refused as busy; none may pile up.
import Http from 'system/http';
export const exec = () => {
  for (;;) Http.get('http://a.test/').catch(() => {});
};
