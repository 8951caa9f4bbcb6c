// Ends as memory-exceeded.
function* endless() {
  for (;;) yield {};
}
export const exec = () => Math.max(...endless());
