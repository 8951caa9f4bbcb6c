// Ends as threw.
const down = () => down() + 1;
export const exec = () => down();
