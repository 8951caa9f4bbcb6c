// Ends as a clean return.
import Http from 'system/http';
export const exec = async () => {
  const body = new Uint8Array(10 * 2 ** 20 - 1000);
  for (let i = 0; i < 20; i++) await Http.post('http://a.test/', body);
};
