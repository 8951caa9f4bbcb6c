// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (;;) {
    const buffer = new ArrayBuffer(1, { maxByteLength: 2 ** 20 });
    buffer.resize(2 ** 20);
    kept.push(buffer);
  }
};
