// Ends as memory-exceeded.
export const exec = () => 'a'.repeat(20000000).split('').length;
