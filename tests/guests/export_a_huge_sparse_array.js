// Ends as return-too-large.
export const exec = () => new Array(2 ** 32 - 1);
