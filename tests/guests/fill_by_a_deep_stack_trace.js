// Ends as memory-exceeded.
Error.stackTraceLimit = Infinity;
const kept = [];
const down = (n) => {
  kept.push(new Error('x'));
  return n === 0 ? 0 : down(n - 1) + 1;
};
export const exec = () => {
  for (;;) down(1000);
};
