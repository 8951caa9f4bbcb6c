// Ends as cpu-exceeded.
// Single instructions that take long: memory.fill, memory.copy, memory.grow.
export const exec = () => {
  const bytes = new Uint8Array(12 * 2 ** 20);
  for (;;) {
    bytes.fill(1);
    bytes.copyWithin(1, 0);
    bytes.set(bytes.subarray(0, 6 * 2 ** 20), 6 * 2 ** 20);
  }
};
