// Ends as cpu-exceeded.
// No handler of the script's may see the stop, and none may outlast it.
export const exec = () => {
  for (;;) {
    try {
      for (;;);
    } catch {
      // go on
    } finally {
      for (;;);
    }
  }
};
