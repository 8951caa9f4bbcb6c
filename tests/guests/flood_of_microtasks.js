// Ends as cpu-exceeded.
export const exec = () => {
  const again = () => queueMicrotask(again);
  for (let i = 0; i < 1000; i++) again();
  return new Promise(() => {});
};
