// Ends as return-too-large.
export const exec = () => {
  let value = [1];
  for (let i = 0; i < 26; i++) value = [value, value];
  return value;
};
