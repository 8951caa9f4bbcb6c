export const exec = () => 'a'.repeat(100000).replaceAll('a', 'b'.repeat(100000)).length;
