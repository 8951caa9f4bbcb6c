// Ends as cpu-exceeded.
function* endless() {
  for (;;) yield 1;
}
export const exec = () => {
  let sum = 0;
  for (const one of endless()) sum += one;
  return sum;
};
