export const exec = async () => {
  for (;;) await null;
};
