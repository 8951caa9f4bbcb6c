// Ends as a clean return.
import Http from 'system/http';
export const exec = async () => {
  const headers = {};
  for (let i = 0; i < 150000; i++) headers[`h${i}`] = '';
  await Http.get('http://a.test/', { headers }).catch(() => {});
};
