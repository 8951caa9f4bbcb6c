// Ends as memory-exceeded.
export const exec = () => {
  const kept = [];
  for (let i = 0; ; i++) kept.push(new Function(`return ${i}`));
};
