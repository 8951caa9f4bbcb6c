// Ends as cpu-exceeded.
export const exec = () => {
  for (;;);
};
