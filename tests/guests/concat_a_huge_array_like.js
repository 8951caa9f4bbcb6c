// Ends as cpu-exceeded.
export const exec = () => [].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }).length;
