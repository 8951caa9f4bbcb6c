// Ends as cpu-exceeded.
export const exec = () => 'a'.repeat(200000).replace(/a*b/g, '').length;
