// Ends as a clean return.
const small = { a: 1 };
export const exec = () => {
  dictionary.list = new Array(98000).fill(small);
  session.list = new Array(98000).fill(small);
  return new Array(65000).fill(small);
};
