for (;;);
export const exec = () => null;
