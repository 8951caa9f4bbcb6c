// Ends as cpu-exceeded.
for (;;);
export const exec = () => null;
