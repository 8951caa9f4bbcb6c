// Ends as cpu-exceeded.
export const exec = async () => {
  for (;;) await null;
};
