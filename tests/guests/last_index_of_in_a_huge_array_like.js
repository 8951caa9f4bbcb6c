// Ends as cpu-exceeded.
export const exec = () => Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1);
