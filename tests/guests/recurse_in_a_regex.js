// Ends as threw.
export const exec = () => new RegExp('('.repeat(100000) + ')'.repeat(100000)).test('x');
