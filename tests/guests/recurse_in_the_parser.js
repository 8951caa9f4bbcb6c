// Ends as threw.
export const exec = () => new Function('('.repeat(400000));
