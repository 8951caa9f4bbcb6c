// Ends as memory-exceeded.
// The backtracking stack of a match is memory too.
export const exec = () => /(?:a|b|ab)*c/.test('ab'.repeat(4000000));
