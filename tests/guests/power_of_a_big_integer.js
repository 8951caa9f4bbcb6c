// Ends as threw.
export const exec = () => (2n ** 10000000n).toString().length;
