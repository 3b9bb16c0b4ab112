import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isUri } from '../../src/server/define/uri-template.ts';
import { longestUri, uriTemplate } from '../../src/server/define/uri-template.ts';

/** The library's own expansion is not used: it misencodes control characters and what is beyond the basic plane. */
const encode = (value: string) =>
  encodeURIComponent(value).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);

const matchOf = (template: string, uri: string) => uriTemplate(template).match(uri);

describe('a URI template [RES-05]', () => {
  test.each([
    [
      'notes://{user}/{+path}',
      'notes://ann%20lee/a/b%20c.txt',
      { user: 'ann lee', path: 'a/b c.txt' },
    ],
    ['notes://{user}/{id}', 'notes://a%2Fb/100%25', { user: 'a/b', id: '100%' }],
    ['n://x/{a}', 'n://x/%C3%A9%E2%9C%93', { a: 'é✓' }],
    ['n://x/{a}', 'n://x/é✓', { a: 'é✓' }],
    ['n://x/{a}', 'n://x/1,2', { a: '1,2' }],
    ['n://x/{a,b}', 'n://x/1,2', { a: '1', b: '2' }],
    ['n://x/{a}-{b}', 'n://x/1-2-3', { a: '1', b: '2-3' }],
    ['n://x/{list*}', 'n://x/a,b%2Cc', { list: ['a', 'b,c'] }],
    ['n://{+path}/{name}', 'n://a/b/c', { path: 'a/b', name: 'c' }],
    ['n://{+path}{?q}', 'n://a/b?q=1', { path: 'a/b', q: '1' }],
    ['proxy:{+url}', 'proxy:https://h/p?q=1#f', { url: 'https://h/p?q=1#f' }],
    ['n://x{/parts*}', 'n://x/a/b%20c/d', { parts: ['a', 'b c', 'd'] }],
    ['n://x{/parts*}', 'n://x', {}],
    ['n://x/{name}{.ext}', 'n://x/file.txt', { name: 'file', ext: 'txt' }],
    ['n://x/{name}{.ext}', 'n://x/file', { name: 'file' }],
    ['n://x{#f}', 'n://x#sec%20tion', { f: 'sec tion' }],
    ['n://x/{a}{?q,page}', 'n://x/1?q=x%26y%3Dz&page=2', { a: '1', q: 'x&y=z', page: '2' }],
    ['n://x/{a}{?q,page}', 'n://x/1?page=2', { a: '1', page: '2' }],
    ['n://x/{a}{?q,page}', 'n://x/1', { a: '1' }],
    ['n://x{?q}', 'n://x?q=', { q: '' }],
    ['n://x{?m*}', 'n://x?m=1&m=2', { m: ['1', '2'] }],
    ['n://x?fixed=1{&q}', 'n://x?fixed=1&q=2', { q: '2' }],
    ['n://x{;p,q}', 'n://x;p=1;q', { p: '1', q: '' }],
    ['n://x', 'n://x', {}],
    ['n://{__proto__}', 'n://a', JSON.parse('{"__proto__":"a"}') as object],
  ])('%s matches %s', (template, uri, variables) => {
    expect(matchOf(template, uri)).toEqual(variables);
  });

  test.each([
    ['n://x/{a}', 'n://x/1/2'],
    ['n://x/{a}', 'n://x/'],
    ['n://x/{a}', 'n://y/1'],
    ['n://x.y/{a}', 'n://xzy/1'],
    ['n://x/{a}', 'n://x/1?q=1'],
    ['n://x/{a}', 'n://x/1#f'],
    ['n://x/{a}', 'n://x/%zz'],
    ['n://x/{a}', 'n://x/%ff'],
    ['n://x/{a,b}', 'n://x/1'],
    ['n://x{?q}', 'n://x?z=1'],
    ['n://x{?q}', 'n://x?q=1&q=2'],
    ['n://{+path}', 'n://'],
    ['n://{+path}', `n://${'a'.repeat(longestUri)}`],
  ])('%s does not match %s', (template, uri) => {
    expect(matchOf(template, uri)).toBeUndefined();
  });

  test.each([
    'n://{',
    'n://}',
    'n://{}',
    'n://{a b}',
    'n://{=a}',
    'n://{a-b}',
    'n://{a*:3}',
    'n:// x',
    'n://{a}/{a}',
    'n://{a:3}',
  ])('rejects a template that cannot be matched: %s', (template) => {
    expect(() => uriTemplate(template)).toThrow(TypeError);
    expect(() => uriTemplate(template)).toThrow(JSON.stringify(template));
  });

  test('returns the values that it was expanded with', () => {
    const value = fc.string({ minLength: 1, maxLength: 8, unit: 'binary' });
    const values = fc.record({
      user: value,
      // Its first dot ends a name; what follows is the extension.
      name: value.filter((text) => !text.includes('.')),
      list: fc.array(value, { minLength: 1, maxLength: 4 }),
      q: fc.option(fc.string({ unit: 'binary', maxLength: 8 }), { nil: undefined }),
      page: fc.option(value, { nil: undefined }),
    });
    const template = 'notes://{user}/{list*}/{name}{.ext}{?q,page}';
    const { match } = uriTemplate(template);
    fc.assert(
      fc.property(values, (given) => {
        const present = Object.entries(given).filter(([, each]) => each !== undefined);
        const { user, list, name } = given;
        const query = present
          .filter(([variable]) => variable === 'q' || variable === 'page')
          .map(([variable, each]) => `${variable}=${encode(each as string)}`);
        const uri = `notes://${encode(user)}/${list.map(encode).join(',')}/${encode(name)}`;
        const whole = query.length > 0 ? `${uri}?${query.join('&')}` : uri;
        expect(match(whole)).toEqual(Object.fromEntries(present));
      }),
    );
  });

  test('matches in bounded time despite backtracking', () => {
    const { match } = uriTemplate('n://{+a}/{+b}/{+c}/{+d}/{+e}{?f*}x');
    expect(match(`n://${'/a'.repeat(4000)}`)).toBeUndefined();
  });

  test('never throws for any URI', () => {
    const { match } = uriTemplate('n://{a}{/b*}{?c}{#d}');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(() => match(`n://${text}`)).not.toThrow();
      }),
    );
  });
});

describe('a URI [RES-06]', () => {
  test.each(['a:', 'file:///a', 'note+x://é', 'urn:isbn:1', 'x://a?b#c'])('can be %j', (text) => {
    expect(isUri(text)).toBe(true);
  });

  test.each(['', 'notes', '//a', '1x://a', 'x://a b', 'x://\n', 'x://{a}', ' x://a', 'x://\u0000'])(
    'cannot be %j',
    (text) => {
      expect(isUri(text)).toBe(false);
    },
  );
});
