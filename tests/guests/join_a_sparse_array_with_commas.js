// Ends as cpu-exceeded.
export const exec = () => String(new Array(2 ** 32 - 1)).length;
