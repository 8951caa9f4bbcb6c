// Ends as cpu-exceeded.
export const exec = () => ({ get then() { for (;;); } });
