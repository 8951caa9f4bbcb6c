// Ends as memory-exceeded.
export const exec = () => {
  let value = ['x'.repeat(1000)];
  for (let i = 0; i < 26; i++) value = [value, value];
  return JSON.stringify(value).length;
};
