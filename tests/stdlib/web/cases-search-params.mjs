// URLSearchParams on its own. A case is { name, run(api), readsBuiltIns }.

const cases = [];
const add = (name, run, options = {}) => cases.push({ name, run, ...options });

const SYMBOL = Symbol('x');
const ITERATOR = Symbol.iterator;
const TAG = Symbol.toStringTag;
const MAP = new Map([['a', 1], ['b', null], ['a b', '&']]);
const SET_OF_PAIRS = new Set([['a', '1'], ['b', '2']]);
const BAD_INITS = [[['a']], [['a', 'b', 'c']], [1], ['ab'], [null], { [SYMBOL]: 'x' }, SYMBOL];

const QUERIES = [
  '', '?', '??', 'a', '?a', 'a=', '=a', '=', '&', '&&a&&', 'a=b', 'a=b=c', 'a&b=c', 'a=1&a=2&b=3', 'a+b=c+d', 'a%20b=%2B',
  '%61=%62', '%=%', '%4=%zz', '%C3%A9=%e9', '%e2%82=%e2%82%ac', '%F0%9F%98%80', '%f0%9f%98x', '%EF%BB%BFa=%EF%BB%BF', 'é=日',
  '\ud800=\udfff', 'a=%00', 'a;b=c', 'a=b#c', ' a = b ', '%ff%fe=%c0%80', '%ED%A0%80', 'a%=1%2', '__proto__=x&constructor=y',
];
for (const query of QUERIES) {
  add(`parse ${JSON.stringify(query)}`, ({ URLSearchParams }) => {
    const params = new URLSearchParams(query);
    let pairs = '';
    params.forEach((value, name) => {
      pairs += name + '→' + value + ';';
    });
    return [pairs, params.toString(), params.size];
  });
}

let everyByte = '';
for (let code = 0; code < 0x180; code++) everyByte += String.fromCharCode(code);
add('serialize every code below 0x180', ({ URLSearchParams }) => new URLSearchParams({ [everyByte]: everyByte }).toString());

const INITS = {
  nothing: undefined,
  null: null,
  number: 5,
  record: { a: 1, b: 'x y', 'c&': null },
  pairs: [['a', 'b'], ['a', 'c'], ['d', undefined]],
  'no pairs': [],
  'pairs of strings': ['ab', 'cd'].map((text) => [...text]),
  map: MAP,
  set: SET_OF_PAIRS,
  'a record with lone surrogates': { '\ud800': 'a', '\ufffd': 'b' },
  'an inherited property': Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true }, hidden: { value: 2 } }),
};
for (const [name, init] of Object.entries(INITS)) {
  add(`from ${name}`, ({ URLSearchParams }) => new URLSearchParams(init).toString(), { readsBuiltIns: name === 'set' });
}
for (const [i, init] of BAD_INITS.entries()) add(`from bad value ${i}`, ({ URLSearchParams }) => new URLSearchParams(init).toString());

add('from another one, by value', ({ URLSearchParams }) => {
  const first = new URLSearchParams('a=1&b=2');
  const second = new URLSearchParams(first);
  first.append('c', '3');
  return [first.toString(), second.toString()];
});
add('append converts', ({ URLSearchParams }) => {
  const params = new URLSearchParams();
  params.append('a', 1);
  params.append(null, undefined);
  params.append('\ud800', { toString: () => 'x' });
  return params.toString();
});
const on = (name, query, change) =>
  add(name, ({ URLSearchParams }) => {
    const params = new URLSearchParams(query);
    return [change(params), params.toString(), params.size];
  });
on('set replaces the first and drops the others', 'a=1&b=2&a=3&a=4', (params) => params.set('a', 'x'));
on('set appends', 'a=1', (params) => params.set('b', 2));
on('delete by name', 'a=1&b=2&a=3', (params) => params.delete('a'));
on('delete by name and value', 'a=1&b=2&a=3', (params) => params.delete('a', '3'));
on('delete with undefined as value', 'a=1&a=undefined', (params) => params.delete('a', undefined));
on('get', 'a=1&a=2', (params) => [params.get('a'), params.get('b')]);
on('getAll', 'a=1&b=0&a=2', (params) => [params.getAll('a'), params.getAll('c')]);
on('has', 'a=1', (params) => [params.has('a'), params.has('b'), params.has('a', '1'), params.has('a', 2), params.has('a', undefined)]);
on('sort is stable and by code units', 'z=1&a=2&é=3&\u{1F600}=4&\uffff=5&a=1&Z=6', (params) => params.sort());
on('too few arguments of append', 'a=1', (params) => params.append('a'));
on('too few arguments of set', 'a=1', (params) => params.set('a'));
on('too few arguments of get', 'a=1', (params) => params.get());
on('too few arguments of forEach', 'a=1', (params) => params.forEach());
on('forEach with no function', 'a=1', (params) => params.forEach({}));
on('a symbol as name', 'a=1', (params) => params.get(SYMBOL));
on('forEach gives value, name, itself and this', 'a=1', (params) => {
  let seen = null;
  params.forEach(function (value, name, whole) {
    seen = [value, name, whole === params, this.mark];
  }, { mark: 5 });
  return seen;
});
on('forEach sees what is appended meanwhile', 'a=1', (params) => {
  let names = '';
  params.forEach((value, name) => {
    names += name;
    if (names.length < 4) params.append('' + names.length, '');
  });
  return names;
});
add('the tag', ({ URLSearchParams }) => URLSearchParams.prototype[TAG]);
add('a foreign this', ({ URLSearchParams }) => ({ __proto__: URLSearchParams.prototype }).toString());

// The script's own iteration; a script that breaks it for itself has broken it, so these do not run sabotaged.
const iterate = (name, query, read) =>
  add(name, ({ URLSearchParams }) => read(new URLSearchParams(query)), { readsBuiltIns: true });
iterate('spread', 'a=1&b=2&a=3', (params) => [...params]);
iterate('entries, keys and values', 'a=1&b=2', (params) => [[...params.entries()], [...params.keys()], [...params.values()]]);
iterate('iterate while deleting', 'a=1&b=2&c=3', (params) => {
  const seen = [];
  for (const [name] of params) {
    seen.push(name);
    params.delete(name);
  }
  return seen;
});
iterate('from its own iterator and from a generator', 'a=1', (params) => {
  const { constructor } = params;
  const pairs = function* () {
    yield ['x', 'y'];
    yield new Set(['z', 'w']);
  };
  return [`${new constructor(params.entries())}`, `${new constructor(pairs())}`];
});
iterate('from a record that has an iterator', '', ({ constructor }) => `${new constructor({ [ITERATOR]: () => [['a', 'b']].values() })}`);

export default cases;
