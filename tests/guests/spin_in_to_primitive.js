// Ends as cpu-exceeded.
import Http from 'system/http';
export const exec = () => Http.get({ [Symbol.toPrimitive]: () => { for (;;); } });
