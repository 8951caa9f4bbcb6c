// Ends as memory-exceeded.
export const exec = () => {
  let error = new Error('x');
  for (;;) error = new Error('x'.repeat(1000) + error.message.length, { cause: error });
};
