// Ends as memory-exceeded.
export const exec = () => 'a'.padEnd(2 ** 30 - 2, 'bc').length;
