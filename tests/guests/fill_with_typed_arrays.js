// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (;;) kept.push(new Uint8Array(65536).fill(1));
};
