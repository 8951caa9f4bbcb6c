export const exec = () => new Proxy({}, { ownKeys: () => { for (;;); } });
