export const exec = () => {
  for (;;);
};
