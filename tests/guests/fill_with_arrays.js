// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (;;) kept.push(new Array(100).fill(0));
};
