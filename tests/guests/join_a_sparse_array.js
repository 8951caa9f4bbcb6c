// Ends as cpu-exceeded.
export const exec = () => new Array(2 ** 32 - 1).join('').length;
