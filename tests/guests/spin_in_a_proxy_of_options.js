// Ends as cpu-exceeded.
import Http from 'system/http';
export const exec = () => Http.get('http://a.test/', new Proxy({}, { getPrototypeOf: () => { for (;;); } }));
