// Ends as cpu-exceeded.
export const exec = () => /(?<=^(a+)+)c/.test(`${'a'.repeat(50000)}b`);
