// Ends as cpu-exceeded.
export const exec = (input, ambient, ctx) => {
  for (;;) ctx.progress({ text: 'x'.repeat(3000) });
};
