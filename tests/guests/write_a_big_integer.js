// Ends as cpu-exceeded.
export const exec = () => (3n ** 600000n).toString(10).length;
