// Ends as cpu-exceeded.
export const exec = () => /^(a+)(a+)(a+)(a+)(a+)\1\2\3\4\5b$/.test('a'.repeat(3000));
