// Ends as return-not-cloneable.
// Not an array by its looks only: the length of a proxy of an array is whatever its trap says.
export const exec = () => new Proxy([], { get: (target, key) => (key === 'length' ? 2 ** 53 - 1 : undefined) });
