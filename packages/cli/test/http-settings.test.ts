import { describe, expect, test } from 'vitest';
import { readArguments } from '../src/options/arguments.ts';
import type { ServeInvocation } from '../src/options/arguments.ts';

const wish = (...args: readonly string[]) =>
  (readArguments(['workspace', ...args], {}) as ServeInvocation).http;

test.each([
  ['3000', 3000, undefined],
  [':3000', 3000, undefined],
  ['localhost:0', 0, 'localhost'],
  ['0.0.0.0:65535', 65_535, '0.0.0.0'],
  ['[::1]:80', 80, '::1'],
])('--http %s', (text, port, host) => {
  expect(wish('--http', text)).toMatchObject({ port, host });
});

test.each(['', '65536', 'localhost', '::1:80', '1.2.3.4:', 'a:b:1', '-1'])(
  '--http=%s is refused',
  (text) => {
    expect(() => wish(`--http=${text}`)).toThrow(/--http/);
  },
);

test('where other nodes reach it is what is given, or is found out', () => {
  const shared = ['--http', '1', '--redis', 'redis://a'];
  expect(wish(...shared)?.nodeUrl).toBeUndefined();
  expect(wish(...shared, '--node-url', 'https://a/mcp')?.nodeUrl).toBe('https://a/mcp');
});

test('without --http there is none', () => {
  expect(wish('/work')).toBeUndefined();
});

test('its bounds are those that are given', () => {
  const limits = wish(
    '--http',
    '1',
    '--max-body',
    '1KiB',
    '--limit',
    'http.eventTtlMs=1min',
  )?.limits;
  expect(limits).toEqual({ maxBodyBytes: 1024, eventTtlMs: 60_000 });
});

describe('what is refused', () => {
  test.each([
    [['--insecure'], '--insecure needs --http PORT'],
    [['--max-body', '1'], '--max-body needs --http PORT'],
    [['--limit', 'http.maxEvents=1'], '--limit http.maxEvents needs --http PORT'],
    [['--allow-origin', 'https://a.example'], '--allow-origin needs --http PORT'],
    [['--node-url', 'http://a/mcp'], '--node-url needs --http PORT'],
    [['--http', '1', '--node-url', 'http://a/mcp'], '--node-url needs --redis'],
    [['--http', '1', '--redis', 'redis://a', '--node-url', 'a:1'], '--node-url must be an http'],
    [['--http', '1', '--chdir'], '--chdir must not be combined with --http'],
    [
      ['--http', '1', '--allow-origin', 'a.example'],
      'must be an origin such as https://app.example, got "a.example"',
    ],
    [['--http', '1', '--allow-origin', 'https://a.example/x'], 'must be an origin'],
    [['--http', '1', '--auth-issuer', 'https://a.example'], '--auth-issuer needs --auth-audience'],
    [['--http', '1', '--auth-audience', 'https://a'], '--auth-audience needs --auth-issuer'],
    [['--http', '1', '--auth-scope', 'a'], '--auth-scope needs --auth-issuer'],
    [['--http', '1', '--auth-client-id', 'a'], '--auth-client-secret-env must be used together'],
    [
      ['--http', '1', '--auth-client-id', 'a', '--auth-client-secret-env', 'NOT_SET_ANYWHERE'],
      'the variable "NOT_SET_ANYWHERE" is not set',
    ],
    [
      ['--http', '1', '--openapi', 'a.json', '--openapi-exchange', 'api'],
      '--openapi-exchange needs --auth-client-id',
    ],
  ])('%j', (args, message) => {
    expect(() => wish(...args)).toThrow(message);
  });
});

test('tokens and origins are as they were given', () => {
  const given = wish(
    ...['--http', '1', '--auth-issuer', 'https://auth.example', '--auth-audience', 'https://a/mcp'],
    ...['--auth-scope', 'read', '--auth-scope', 'use', '--allow-origin', 'https://A.example/'],
  );
  expect(given).toMatchObject({
    authorization: {
      issuer: 'https://auth.example',
      audience: 'https://a/mcp',
      requiredScopes: ['read', 'use'],
    },
    allowedOrigins: ['https://a.example'],
  });
});
