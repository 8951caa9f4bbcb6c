// Ends as cpu-exceeded.
// One call of a built-in that never polls.
export const exec = () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);
