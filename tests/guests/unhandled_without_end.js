// Ends as cpu-exceeded.
export const exec = async () => {
  for (;;) {
    Promise.reject(new Error('x'));
    await null;
  }
};
