// Ends as cpu-exceeded.
export const exec = () => {
  const numbers = new Float64Array(2 ** 21);
  for (;;) {
    for (let i = 0; i < numbers.length; i += 1) numbers[i] = (i * 2654435761) % 1000003;
    numbers.sort();
  }
};
