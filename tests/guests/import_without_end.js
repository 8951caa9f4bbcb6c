// Ends as cpu-exceeded.
export const exec = async () => {
  for (let i = 0; ; i++) await import(`./x${i}.js`).catch(() => {});
};
