// Ends as cpu-exceeded.
export const exec = () => new Proxy({}, { ownKeys: () => { for (;;); } });
