// Ends as cpu-exceeded.
export const exec = () => Array.prototype.reverse.call({ length: 2 ** 53 - 1 });
