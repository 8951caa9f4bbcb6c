// Ends as memory-exceeded.
export const exec = () => {
  let proxy = {};
  for (let i = 0; i < 1000000; i++) proxy = new Proxy(proxy, {});
  return proxy.x;
};
