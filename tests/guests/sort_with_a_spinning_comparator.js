// Ends as cpu-exceeded.
export const exec = () => [3, 1, 2].sort(() => { for (;;); });
