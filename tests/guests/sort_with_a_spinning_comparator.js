export const exec = () => [3, 1, 2].sort(() => { for (;;); });
