// Ends as threw.
export const exec = () => {
  let a = 3n ** 400000n;
  for (;;) a = (a * a) % (a - 1n) + 3n ** 400000n;
};
