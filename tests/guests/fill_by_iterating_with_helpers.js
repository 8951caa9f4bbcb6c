// Ends as memory-exceeded.
function* endless() {
  for (let i = 0; ; i++) yield i;
}
export const exec = () => endless().map((n) => n * 2).filter((n) => n % 3).toArray().length;
