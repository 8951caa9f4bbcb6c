// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (;;) {
    try {
      for (;;) kept.push('x'.padEnd(10000, kept.length));
    } catch {
      // once it may be caught
    }
  }
};
