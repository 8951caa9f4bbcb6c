// Ends as cpu-exceeded.
// exec has returned; what it left running has not.
export const exec = async () => {
  (async () => {
    for (;;) await null;
  })();
  return 'returned';
};
