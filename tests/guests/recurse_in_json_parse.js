// Ends as threw.
export const exec = () => JSON.parse('['.repeat(1000000));
