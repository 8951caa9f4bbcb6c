// Ends as memory-exceeded.
export const exec = () => {
  const text = Array.from({ length: 100000 }, (_, i) => `"key ${i}":${i}`).join(',');
  return Object.keys(JSON.parse(`{${text}}`)).length;
};
