// Ends as cpu-exceeded.
export const exec = () => {
  const bytes = new Uint8Array(20 * 2 ** 20);
  let found = 0;
  for (;;) found += bytes.indexOf(1);
};
