// Ends as threw.
export const exec = () => {
  let nested = [];
  for (let i = 0; i < 300000; i++) nested = [nested];
  return nested.flat(Infinity).length;
};
