export const exec = () => ({ get answer() { for (;;); } });
