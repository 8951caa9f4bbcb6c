// Ends as cpu-exceeded.
export const exec = async () => {
  const registry = new FinalizationRegistry(() => { for (;;); });
  for (;;) {
    registry.register({}, 1);
    await null;
  }
};
