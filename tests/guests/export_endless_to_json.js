// Ends as return-not-cloneable.
// Each toJSON gives one that has a toJSON again.
const again = () => ({ next: { toJSON: again } });
export const exec = again;
