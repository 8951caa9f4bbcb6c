// Ends as memory-exceeded.
export const exec = () => {
  const again = () => {
    queueMicrotask(again);
    queueMicrotask(again);
  };
  again();
  return new Promise(() => {});
};
