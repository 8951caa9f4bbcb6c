// Ends as threw.
export const exec = () => (1n << (1n << 30n)) > 0n;
