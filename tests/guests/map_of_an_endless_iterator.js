// Ends as memory-exceeded.
function* endless() {
  for (let i = 0; ; i++) yield [i, i];
}
export const exec = () => new Map(endless()).size;
