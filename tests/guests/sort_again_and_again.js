// Ends as cpu-exceeded.
export const exec = () => {
  const values = Array.from({ length: 200000 }, () => Math.random());
  for (;;) values.sort(() => Math.random() - 0.5);
};
