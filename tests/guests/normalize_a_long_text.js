// Ends as cpu-exceeded.
export const exec = () => {
  for (;;) '\u0344\u1e69'.repeat(400000).normalize('NFKD');
};
