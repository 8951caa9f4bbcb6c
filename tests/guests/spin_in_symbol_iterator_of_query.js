// Ends as cpu-exceeded.
import Http from 'system/http';
export const exec = () => Http.get('http://a.test/', { query: { list: new Proxy([], { get: (t, key) => (key === 'length' ? 2 ** 53 - 1 : undefined) }) } });
