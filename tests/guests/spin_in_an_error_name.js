// Ends as cpu-exceeded.
// The report of what was thrown reads it.
export const exec = () => {
  throw { get name() { for (;;); }, message: 'x' };
};
