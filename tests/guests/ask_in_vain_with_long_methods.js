// Ends as a clean return.
// Requests that are refused as busy are reported too; what is reported must not pile up in the host.
import Http from 'system/http';
const method = 'X'.repeat(20000);
export const exec = async () => {
  for (let i = 0; i < 5; i++) {
    const open = Http.get('http://a.test/');
    for (let j = 0; j < 199; j++) Http.request({ method, url: `http://a.test/${'y'.repeat(2000)}` }).catch(() => {});
    await open;
  }
};
