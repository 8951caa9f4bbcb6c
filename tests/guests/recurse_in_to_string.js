// Ends as threw.
const value = { toString: () => `${value}` };
export const exec = () => `${value}`;
