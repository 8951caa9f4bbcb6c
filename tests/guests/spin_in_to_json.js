// Ends as cpu-exceeded.
export const exec = () => ({ toJSON: () => { for (;;); } });
