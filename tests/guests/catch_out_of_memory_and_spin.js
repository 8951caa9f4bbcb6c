// Ends as cpu-exceeded.
export const exec = () => {
  try {
    new Uint8Array(2 ** 31 - 1);
  } catch {
    for (;;);
  }
};
