// Ends as memory-exceeded.
const down = async () => {
  await null;
  return [await down()];
};
export const exec = down;
