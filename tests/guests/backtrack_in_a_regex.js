// Ends as cpu-exceeded.
export const exec = () => /^(a+)+$/.test(`${'a'.repeat(50000)}b`);
