// Ends as memory-exceeded.
export const exec = () => JSON.parse(`[${'[],'.repeat(5000000)}[]]`).length;
