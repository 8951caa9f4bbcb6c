// Ends as memory-exceeded.
export const exec = () => {
  const object = {};
  for (let i = 0; ; i++) object[`name-${i}`] = i;
};
