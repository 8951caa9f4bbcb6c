// Ends as memory-exceeded.
export const exec = () => [...'a'.repeat(8000000).matchAll(/a/g)].length;
