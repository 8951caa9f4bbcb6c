export const exec = () => {
  let list = null;
  for (;;) list = { list };
};
