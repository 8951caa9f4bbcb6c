// Ends as memory-exceeded.
export const exec = () => new ArrayBuffer(2 ** 31 - 1).byteLength;
