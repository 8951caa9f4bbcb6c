export const exec = () => ({ get then() { for (;;); } });
