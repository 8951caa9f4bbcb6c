// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (;;) kept.push(structuredClone(new Uint8Array(100000)));
};
