// Ends as memory-exceeded.
export const exec = () => 'a'.repeat(500).replaceAll('a', 'b'.repeat(100000)).length;
