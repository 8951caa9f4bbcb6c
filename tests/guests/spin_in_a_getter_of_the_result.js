// Ends as cpu-exceeded.
export const exec = () => ({ get answer() { for (;;); } });
