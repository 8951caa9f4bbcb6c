// Ends as cpu-exceeded.
export const exec = () => {
  const buffer = new ArrayBuffer(1, { maxByteLength: 16 * 2 ** 20 });
  for (;;) {
    buffer.resize(16 * 2 ** 20);
    buffer.resize(1);
  }
};
