import { describe, expect, test } from 'vitest';
import { addressOf } from '../../src/http/address.ts';
import { httpChannelKind } from '../../src/http/http-channel-kind.ts';

describe('the address of a server', () => {
  test.each<[entry: object, fault: RegExp]>([
    [{}, /^url: must be an absolute URL, got "undefined"$/],
    [{ url: '/mcp' }, /^url: must be an absolute URL, got "\/mcp"$/],
    [{ url: 'file:///mcp' }, /^url: must use https: or http:, got file:$/],
    [{ url: 'https://a:s3cret@b/' }, /^url: must not contain a user or password/],
    [{ url: 'https://s3cret@b/' }, /^url: must not contain a user or password/],
    [{ url: 'https://:s3cret@b/' }, /^url: must not contain a user or password/],
    [
      { url: 'http://example.com/mcp?k=s3cret' },
      /^url: http:\/\/example.com\/mcp is not encrypted.* allowInsecure/,
    ],
    [{ url: 'http://127.0.0.1.example.com/' }, /is not encrypted/],
    [
      { url: 'https://b/', headers: { 'a b': 's3cret' } },
      /^headers: "a b" must be a valid HTTP header/,
    ],
    [
      { url: 'https://b/', headers: { key: 's3cret\n' + 'x' } },
      /^headers: "key" must be a valid HTTP header/,
    ],
    [{ url: 'https://b/', headers: { key: 7 } }, /^headers: "key" must be a valid HTTP header/],
  ])('%j is refused, without its secrets', (entry, fault) => {
    const check = () => addressOf(entry as never);
    expect(check).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
    expect(check).toThrow(fault);
    expect(check).not.toThrow(/s3cret/);
  });

  test.each([
    'http://localhost:1/',
    'http://a.localhost/',
    'http://127.8.9.1/',
    'http://[::1]/',
    'https://b/',
  ])('%s is accepted', (url) => {
    expect(addressOf({ url }).url.href).toBe(url);
  });

  test('has no fragment, which is sent to nobody, and its headers in lower case', () => {
    const { url, ...rest } = addressOf({ url: 'https://b/mcp?x#y', headers: { 'X-Key': 'a' } });
    expect(url.href).toBe('https://b/mcp?x');
    expect(rest).toEqual({ headers: { 'x-key': 'a' }, transport: 'streamable' });
    expect(addressOf({ type: 'sse', url: 'https://b/' }).transport).toBe('sse');
  });

  test('that is not encrypted is accepted if the host says so', () => {
    expect(addressOf({ url: 'http://b/' }, true).url.host).toBe('b');
  });

  test.each([
    [{ maxOpenRequests: 0 }, 'maxOpenRequests must be a whole number of at least 1, got 0'],
    [{ streamRetry: { factor: 0 } }, 'streamRetry.factor must be a number from 1 to 1000, got 0'],
  ])('options that are wrong are refused: %j', (options, fault) => {
    expect(() => httpChannelKind({ url: 'https://b/' }, options)).toThrow(new RangeError(fault));
  });

  test('one request at once is few, but right', () => {
    expect(() => httpChannelKind({ url: 'https://b/' }, { maxOpenRequests: 1 })).not.toThrow();
  });

  test('names the server, and what remembers its era', () => {
    const { name, eraKey, shows } = httpChannelKind({ url: 'https://b:8443/x?y' });
    expect([name, eraKey, shows]).toEqual(['b:8443', 'https://b:8443', 'answer']);
  });
});
