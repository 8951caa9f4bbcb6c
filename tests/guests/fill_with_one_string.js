// Ends as memory-exceeded.
export const exec = () => {
  let text = 'x';
  for (;;) text += text.slice(0, 65536);
};
