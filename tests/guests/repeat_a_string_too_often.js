// Ends as memory-exceeded.
export const exec = () => 'a'.repeat(2 ** 29).length;
