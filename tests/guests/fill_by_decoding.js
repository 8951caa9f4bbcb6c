// Ends as memory-exceeded.
export const exec = () => {
  const bytes = new Uint8Array(10 * 2 ** 20).fill(0xff);
  return new TextDecoder().decode(bytes).length;
};
