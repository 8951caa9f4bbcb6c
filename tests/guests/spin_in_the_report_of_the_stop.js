// Ends as cpu-exceeded.
for (const type of [Error, RangeError, InternalError, Object]) {
  Object.defineProperty(type.prototype, 'name', { get: () => { for (;;); }, configurable: true });
}
export const exec = () => {
  for (;;);
};
