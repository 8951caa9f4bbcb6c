// Ends as memory-exceeded.
function* endless() {
  for (;;) yield 1;
}
export const exec = () => Array.from(endless()).length;
