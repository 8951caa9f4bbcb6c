// Ends as a clean return.
// Freeing a long chain must not use the stack.
export const exec = () => {
  let chain = null;
  for (let i = 0; i < 300000; i++) chain = [chain];
  chain = null;
  return 'freed';
};
