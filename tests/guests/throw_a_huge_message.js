// Ends as threw.
export const exec = () => {
  const error = new Error('m'.repeat(5 * 2 ** 20));
  error.name = 'n'.repeat(5 * 2 ** 20);
  error.stack = 's'.repeat(5 * 2 ** 20);
  throw error;
};
