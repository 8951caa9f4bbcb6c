// Ends as memory-exceeded.
export const exec = () => {
  const object = {};
  for (let i = 0; ; i++) Object.defineProperty(object, `p${i}`, { get: () => i, configurable: true });
};
