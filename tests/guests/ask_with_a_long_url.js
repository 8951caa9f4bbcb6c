// Ends as a clean return.
import Http from 'system/http';
export const exec = async () => {
  for (let i = 0; i < 5; i++) await Http.get(`http://a.test/${'x'.repeat(4 * 2 ** 20)}`).catch(() => {});
};
