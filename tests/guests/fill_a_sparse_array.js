// Ends as memory-exceeded.
export const exec = () => new Array(2 ** 32 - 1).fill(0).length;
