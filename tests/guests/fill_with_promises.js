// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (;;) kept.push(new Promise(() => {}));
};
