// Ends as cpu-exceeded.
// Many short slices; what counts is their sum.
import Http from 'system/http';
export const exec = async () => {
  for (let i = 0; i < 100; i++) {
    for (const from = Date.now(); Date.now() < from + 10; );
    await Http.get('http://a.test/');
  }
};
