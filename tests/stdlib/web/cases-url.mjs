// URL: parsing with and without a base, and every setter. A case is { name, run(api), readsBuiltIns }.

const SYMBOL = Symbol('x');
const TAG = Symbol.toStringTag;

const partsOf = (url) => ({
  href: url.href,
  origin: url.origin,
  protocol: url.protocol,
  username: url.username,
  password: url.password,
  host: url.host,
  hostname: url.hostname,
  port: url.port,
  pathname: url.pathname,
  search: url.search,
  hash: url.hash,
  query: url.searchParams.toString(),
});

// Separated by "¦" or a newline.
const ABSOLUTE = String.raw`
http://example.com¦http://example.com/¦HTTP://EXAMPLE.COM/A¦https://example.com:443/¦https://example.com:80/¦http://example.com:080/
http://example.com:/¦http://example.com:65535/¦http://example.com:65536/¦http://example.com:8a/¦http://example.com:-1/¦http://:80/
http://user@h/¦http://user:@h/¦http://:pw@h/¦http://u:p@h:81/x?y#z¦http://a@b@c/¦http://a:b:c@d/¦http://u%20v:p/w@h/¦http://@h/¦http://u@/
http://u;x=1:p|q@h/¦http://[]/¦http://[::]/¦http://[::1]:80/¦http://[1:2:3:4:5:6:7:8]/¦http://[1::8]/¦http://[::1.2.3.4]/
http://[1:0:0:4:0:0:0:8]/¦http://[0:0:1::]/¦http://[ABCD::EF01]/¦http://[::ffff:1.2.3.4]/¦http://[::1.2.3]/¦http://[::1.2.3.256]/
http://[::01.2.3.4]/¦http://[1:2:3:4:5:6:7]/¦http://[1:2:3:4:5:6:7:8:9]/¦http://[12345::]/¦http://[g::]/¦http://[::1/¦http://::1]/
http://[1::2::3]/¦http://[:1]/¦http://[1:]/¦http://[1:::2]/¦http://[::1%25eth0]/¦http://[1:2:3:4:5:6:1.2.3.4]/¦http://[1:2:3:4:5:6:7:1.2.3.4]/
http://127.0.0.1/¦http://0x7f.1/¦http://2130706433/¦http://0177.0.0.1/¦http://127.1/¦http://0/¦http://0x/¦http://0xffffffff/¦http://0x100000000/
http://1.2.3.4.5/¦http://1.2.3/¦http://256.1.1.1/¦http://1.256.1.1/¦http://1.1.1.256/¦http://1.1.65536/¦http://1.1.65535/¦http://09.1.1.1/
http://1.2.3.4./¦http://1.2.3.4../¦http://1..2/¦http://.1.2.3/¦http://a.1/¦http://a.0x1/¦http://a.0xg/¦http://1.a/¦http://08/¦http://a.b.09/
http://4294967295/¦http://4294967296/¦http://99999999999999999999/¦http://0x7F.0x0.0x0.0x1/¦http://1e3/¦http://+1/¦http://%31%32%37.0.0.1/
http://EX%41MPLE.com/¦http://a%00b/¦http://a%20b/¦http://a b/¦http://a<b/¦http://a>b/¦http://a^b/¦http://a%5eb/¦http://a|b/¦http://a%/¦http://a%zz/
http://a_b/¦http://-a-/¦http://a..b/¦http://.a/¦http://a./¦http://./¦http://../¦http://a'b/¦http://a"b/¦http://a${'`'}b/¦http://a{b}/¦http://a;b,c=d/¦http://a!$&*()+~/
http://ex\ample.com/¦http://h\a\b¦http:\\h\p¦http:/h/p¦http:h/p¦http:///h/p¦http:////h¦https:/\/h¦http:¦http:/¦http://¦http:?x¦http:#x
http://h?q¦http://h#f¦http://h?#¦http://h/?a=1&b=%20#c d¦http://h/a b¦http://h/a%20b¦http://h/%¦http://h/%4¦http://h/%zz¦http://h/"<>${'`'}{}¦http://h/[]¦http://h/?"<>${'`'}{}'
http://h/?a'b¦http://h/#"<>${'`'}{}'¦http://h/#a#b¦http://h/?a?b¦http://h/a;b=c,d:e@f!g$h&i(j)k*l+m~n_o-p¦http://h/\u0000¦http://h/%00
http://h/.¦http://h/..¦http://h/./¦http://h/../¦http://h/a/.¦http://h/a/..¦http://h/a/./b¦http://h/a/../b¦http://h/a/../../b¦http://h/a/b/../..
http://h/%2e¦http://h/%2E%2e/a¦http://h/a/%2e%2E¦http://h/a/.%2e/b¦http://h/a/%2e./b¦http://h/...¦http://h/a/.../b¦http://h/.a¦http://h/..a
http://h//¦http://h///a//b¦http://h/a//../b¦http://h/a\..\b¦http://h/a/..\../b
ws://h:80/¦wss://h:443/a¦ws://h:443¦ftp://h:21/¦ftp://h:22/x¦ftp:h¦gopher://h:70/¦ssh://u@h:22/p
foo:¦foo:/¦foo://¦foo:///¦foo:a¦foo:/a¦foo://a¦foo:///a¦foo://a/¦foo://a/b/../c¦foo:/a/./b¦foo:/a/../..¦foo:/..//b¦foo:/.//b¦foo:a/../b
foo://H:80/¦foo://h:x/¦foo://h:¦foo://[::1]/¦foo://[x]/¦foo://a b/¦foo://a%b/¦foo://a<b/¦foo://u:p@h/¦foo://u@¦foo://:80¦foo://h\x¦foo://h?q'¦foo:a?b#c
foo://%41/¦foo:// /¦foo://a^b/¦foo://0x7f.1/¦foo+bar-1.2:x¦1foo:x¦+foo:x¦fo_o:x¦foo¦:foo¦://x¦a b:c
mailto:a@b.c¦mailto:A b¦mailto:a?subject=x y¦data:text/plain,a b"<>¦data:,a#b c¦javascript:alert(1)¦javascript:a/../b¦urn:isbn:1
blob:https://a.b:8/c¦blob:http://h/x¦blob:foo:x¦blob:x¦blob:¦about:blank¦tel:+1-2
file:¦file:/¦file://¦file:///¦file:a¦file:/a¦file://a¦file://a/b¦file:///a/../../b¦file://localhost/a¦file://LOCALHOST/¦file://h:80/¦file://u@h/
file:///C:/a/../..¦file:///c|/x¦file:c:/x¦file:/c:¦file://c:/x¦file://c|/x¦file:///c:¦file:\\h\x¦file:///a\b¦file:////h/x¦file:///%43:/¦file:///C:x/..¦file://1.2/x
file://[::1]/x¦file:?q¦file:#f¦file://%2e/¦file:///C|`;

// Given as strings with escapes: white space, controls, lone surrogates, what is not ASCII outside of a host.
const ESCAPED = [
  '  http://h/  ',
  '\x00\x1fhttp://h/\x1f\x00',
  'ht\ntp://h\t/a\rb',
  'http://h/ a\n b ',
  'http://h:8\t0/',
  'http://h/\x7f\x01',
  'http://h/é/日本?é#é',
  'http://h/\u{1F600}?\u{1F600}#\u{1F600}',
  'http://h/\ud800?\udfff#\ud800x',
  'http://é:日@h/',
  'foo:é',
  'foo://é/',
  'foo:/é?é',
  'http://a\x00b/',
  'http://a\x01b/',
  'http://a\x7fb/',
  '',
  ' ',
  'é',
  'http://É.example/',
  'http://日本。jp/',
  'http://１２７.０.０.１/',
  'http://a\u00adb/',
  'http://xn--zz--/',
  'http://%C3%89/',
  'http://%ff/',
];

const BASES = ['http://u:p@h:81/a/b?c#d', 'https://h', 'file:///C:/d/e?f', 'file://h/d', 'foo://h/a/b', 'foo:/a/b?c', 'foo:a'];
const RELATIVE = String.raw`
¦x¦/x¦//x¦///x¦\x¦\\x¦/\x¦.¦..¦./¦../¦../..¦../../../x¦./x¦x/../y¦?¦?q¦#¦#f¦?q#f¦x?q#f¦/x/../y¦;p¦a:b¦:a¦http:x¦http:/x¦http://x¦https:x¦file:x
file:/x¦foo:x¦foo:/x¦C:¦C|/x¦/C:/x¦/C|/x¦C:x¦/..¦//C:/x¦//localhost/x¦///C:/x¦%2e%2E¦a b¦//u@x:9/¦//¦///¦?x y'¦#x y'`;

const SETTERS = {
  href: ['http://x/', 'nonsense', 'foo:x', '  http://y?z  '],
  protocol: ['https', 'https:', 'HTTPS://x', 'ws', 'file', 'foo', 'foo+1', '1x', '', ':', 'ht\ntps', 'https:x', 'é', 'wss:', 'ftp'],
  username: ['', 'u', 'a:b@c/d', 'é', '%41', 'a b', '\ud800', "'"],
  password: ['', 'p', 'a:b@c/d', 'é', '%41', 'a b|^'],
  host: ['', 'x', 'x:82', 'x:443', 'x:80', 'X.Y', 'x/y', 'x?y', 'x#y', 'x\\y', 'x y', 'u@x', '[::1]:9', '[::1', 'x:65536', 'x:9a', '0x10', ':9', 'localhost', 'C:'],
  hostname: ['', 'x', 'x:82', 'X.Y', 'x/y', 'x?y', 'x#y', 'x\\y', 'x y', '[1::2]', '1.2', '1.2.3.4.5', 'localhost', ':', 'a\tb'],
  port: ['', '0', '82', '443', '80', '21', '65535', '65536', '9a', '0009', '\t9\n', '8 1', '99999999999'],
  pathname: ['', '/', 'x', '/x/y', '\\x', '..', '/a/../b', 'a?b#c', 'a b"<>`{}', '%2e%2e/x', 'é', '//x', '/./y', 'C|/x', ' x '],
  search: ['', '?', 'x', '?x=1&y', '??', 'a b"<>#\'', 'é', '%zz', 'a\tb', '+'],
  hash: ['', '#', 'x', '#x', '##', 'a b"<>`', 'é', '%zz', 'a\nb'],
};
const SUBJECTS = ['http://u:p@h:81/a/b?c#d', 'https://h/', 'file:///C:/d?q', 'file://h/d', 'foo://u@h:9/a?b', 'foo:/a/b', 'foo:a#b', 'mailto:x'];

const cases = [];
const add = (name, run) => cases.push({ name, run });
const lines = (table) => table.replaceAll('\n', '¦').split('¦');

for (const input of [...lines(ABSOLUTE).filter((line) => line !== ''), ...ESCAPED]) {
  add(`new URL(${JSON.stringify(input)})`, ({ URL }) => partsOf(new URL(input)));
  add(`canParse(${JSON.stringify(input)})`, ({ URL }) => URL.canParse(input));
}
for (const base of BASES) {
  for (const input of [...new Set(lines(RELATIVE))]) {
    add(`new URL(${JSON.stringify(input)}, ${JSON.stringify(base)})`, ({ URL }) => partsOf(new URL(input, base)));
  }
}
for (const subject of SUBJECTS) {
  for (const [key, values] of Object.entries(SETTERS)) {
    for (const value of values) {
      add(`${subject} .${key} = ${JSON.stringify(value)}`, ({ URL }) => {
        const url = new URL(subject);
        const params = url.searchParams;
        url[key] = value;
        return [partsOf(url), params.toString(), params === url.searchParams];
      });
    }
  }
}

add('a base that is no URL', ({ URL }) => new URL('http://h/', 'nonsense'));
add('a URL object as input and as base', ({ URL }) => new URL(new URL('../x?y', new URL('http://h/a/b/c'))).href);
add('no argument', ({ URL }) => new URL());
add('a symbol', ({ URL }) => new URL(SYMBOL));
add('undefined as base is no base', ({ URL }) => new URL('http://h/', undefined).href);
add('null as base', ({ URL }) => new URL('x', null));
add('canParse with a base', ({ URL }) => [URL.canParse('x', 'http://h/'), URL.canParse('x', 'foo:a'), URL.canParse('x', 'y')]);
add('toString and toJSON', ({ URL }) => [new URL('http://H').toString(), new URL('http://H').toJSON()]);
add('called without new', ({ URL }) => URL('http://h/'));
add('a foreign this', ({ URL }) => ({ __proto__: URL.prototype }).href);
add('the tag', ({ URL }) => URL.prototype[TAG]);
add('searchParams write through', ({ URL }) => {
  const url = new URL('http://h/?a=1#f');
  const params = url.searchParams;
  params.append('b', 'x y');
  const appended = url.href;
  params.set('a', '&=');
  const set = url.href;
  params.delete('b');
  const deleted = url.href;
  params.delete('a');
  const empty = url.href;
  url.search = '?z=1&z=2';
  const count = params.getAll('z').length;
  params.sort();
  url.href = 'https://other/?k=v';
  params.append('n', "it's");
  return [appended, set, deleted, empty, count, params.get('k'), url.href];
});

export default cases;
