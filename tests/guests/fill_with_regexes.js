// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (let i = 0; ; i++) kept.push(new RegExp(`(?:[a-z]|${i}){1,500}`, 'u'));
};
