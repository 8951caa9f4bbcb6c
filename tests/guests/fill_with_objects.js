// Ends as memory-exceeded.
export const exec = () => {
  let list = null;
  for (;;) list = { list };
};
