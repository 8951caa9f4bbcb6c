const down = () => down() + 1;
export const exec = () => down();
