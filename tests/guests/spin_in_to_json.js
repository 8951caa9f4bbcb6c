export const exec = () => ({ toJSON: () => { for (;;); } });
