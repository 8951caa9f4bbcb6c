// Ends as memory-exceeded.
function* endless() {
  for (;;) yield Promise.resolve();
}
export const exec = () => Promise.all(endless());
