import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonForm } from '../src/log/log-line.ts';
import { redact, redacted, redactText } from '../src/redaction.ts';
import { Redactor } from '../../recording/src/recording-writer.ts';
import { isSecretKey, secretPlaces, tokenForms } from '../src/secrets.ts';

describe('redaction of secrets', () => {
  test.each([
    'token',
    'accessToken',
    'refresh_token',
    'Authorization',
    'proxy-authorization',
    'password',
    'PASSWD',
    'passphrase',
    'pwd',
    'MYSQL_PWD',
    'PGPASS',
    'PGPASSWORD',
    'clientSecret',
    'apiKey',
    'api_key',
    'X-API-Key',
    'Set-Cookie',
    'private_key',
    'credentials',
  ])('replaces the value of %j', (key) => {
    expect(redact({ [key]: 'hunter2' })).toEqual({ [key]: redacted });
  });

  test.each(['progressToken', 'maxTokens', 'author', 'keyboard', 'path'])(
    'keeps the value of %j',
    (key) => {
      expect(isSecretKey(key)).toBe(false);
    },
  );

  test('replaces secrets at any depth, in lists and in object values', () => {
    const value = { a: [{ b: { token: { deep: 'hunter2' }, ok: 1 } }] };
    expect(redact(value)).toEqual({ a: [{ b: { token: redacted, ok: 1 } }] });
  });

  test.each([
    'Authorization: Bearer abc.def-123',
    'failed with Bearer eyJhbGciOi.abc.def',
    'GET https://user:hunter2@example.org/path',
    'GET https://example.org/?access_token=hunter2&x=1',
    'password=hunter2 refused',
    '{"apiKey":"hunter2"}',
  ])('replaces secrets in the text %j', (text) => {
    const clean = redactText(text);
    expect(clean).toContain(redacted);
    expect(clean).not.toMatch(/hunter2|abc\.def|eyJ/);
  });

  const described = [...secretPlaces, ...tokenForms].flatMap(({ what, examples }) =>
    examples.map((example) => ({ what, example })),
  );
  test.each(described)('$what: $example', ({ example }) => {
    const text = example.replaceAll(/[[\]]/g, '');
    const clean = example.replaceAll(/\[.*?\]/g, redacted);
    expect(redactText(text)).toBe(clean);
    expect(redactText(clean)).toBe(clean);
    expect(redactText(`before ${text} after`)).not.toContain('hunter2');
  });

  const hex = (length: number) => '0123456789abcdef'.repeat(6).slice(0, length);
  const mixed = (length: number) => '0123456789abcdefGHIJKLmnop'.repeat(4).slice(0, length);
  test.each([
    `glrt-${mixed(20)}`,
    `xapp-1-A${mixed(20)}`,
    `GOCSPX-${mixed(28)}`,
    `ya29.${mixed(40)}`,
    `pypi-AgEIcHlwaS5vcmc${mixed(40)}`,
    `dckr_pat_${mixed(27)}`,
    `rubygems_${hex(48)}`,
    `dop_v1_${hex(64)}`,
    `hvs.${mixed(24)}`,
    `dapi${hex(32)}`,
    `dp.st.${mixed(43)}`,
    `pul-${hex(40)}`,
    `hf_${mixed(34)}`,
    `gsk_${mixed(52)}`,
    `SG.${mixed(22)}.${mixed(43)}`,
    `key-${hex(32)}`,
    `shpat_${hex(32)}`,
    `sq0csp-${mixed(43)}`,
    `whsec_${mixed(32)}`,
    `figd_${mixed(40)}`,
    `glsa_${mixed(32)}_${hex(8)}`,
    `lin_api_${mixed(40)}`,
    `NRAK-${mixed(27).toUpperCase()}`,
    `PMAK-${hex(24)}-${hex(34)}`,
    `sntrys_${mixed(60)}`,
  ])('hides a token of a common service: %s', (token) => {
    expect(redactText(`The server said ${token}, and ended`)).toBe(
      `The server said ${redacted}, and ended`,
    );
  });

  test.each([
    ["password: 'hunter2, hunter2'", `password: '${redacted}'`],
    [String.raw`{"password":"hunter\"2","user":"ann"}`, `{"password":"${redacted}","user":"ann"}`],
    [
      JSON.stringify({ text: JSON.stringify({ apiKey: 'hunt"er\\2', user: 'ann' }) }),
      String.raw`{"text":"{\"apiKey\":\"${redacted}\",\"user\":\"ann\"}"}`,
    ],
    ['postgres://ann:p@ss@db/notes', `postgres://${redacted}@db/notes`],
    [
      'AWS_SECRET_ACCESS_KEY=hunter2 AWS_REGION=x',
      `AWS_SECRET_ACCESS_KEY=${redacted} AWS_REGION=x`,
    ],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', `-----BEGIN RSA PRIVATE KEY-----${redacted}`],
    ['token="hunter2', `token="${redacted}`],
  ])('turns %j into %j', (text, clean) => {
    expect(redactText(text)).toBe(clean);
  });

  test.each([
    'a task-0123456789-0123456789-0123456789',
    'sk-folding-cube-with-a-long-name',
    'hf_hub_download, gsk_test, key-value, dp.name, glance-images-of-a-long-list',
    'commit 0123456789abcdef0123456789abcdef01234567',
    'see https://example.org/a?page=2 or write to ann@example.org',
    '{"token":{"type":"string"},"password":null}',
    'progressToken: 7, maxTokens=100',
    'eyJjdXJzb3IiOjEwMH0',
    '-----BEGIN PUBLIC KEY-----MIIB-----END PUBLIC KEY-----',
  ])('finds no secret in %j', (text) => {
    expect(redactText(text)).toBe(text);
  });

  test('replaces a secret whole if truncation would cut it', () => {
    const token = `ghp_${'0123456789'.repeat(4)}`;
    for (let before = 440; before <= 500; before++) {
      const clean = redactText(`${'x'.repeat(before - 1)} ${token} and more${'.'.repeat(100)}`);
      expect(clean).not.toContain('ghp_');
      expect(clean.includes(redacted)).toBe(before < 500);
    }
  });

  test('replaces secrets in member names', () => {
    const value = { 'https://ann:hunter2@host/': 1 };
    expect(redact(value)).toEqual({ [`https://${redacted}@host/`]: 1 });
    expect(new Redactor().json(value)).toBe('{"https://[redacted 1]@host/":1}');
  });

  // A pattern that backtracks would take hours for one of these.
  test.each([
    ...[
      'a',
      ' ',
      '\\',
      '"',
      '\\"',
      '=',
      'pwd=',
      'pwd',
      'a.',
      'a://',
      'a://b',
      'password="',
      "token='\\",
    ],
    ...[
      'password=\\"',
      'pwd:\\\\\\"\\"',
      'password={',
      'Bearer ',
      'Cookie: ',
      '&sig=',
      'http://a@',
      'x-',
    ],
    ...[
      'eyJ',
      'eyJaaaaaaaa.',
      'sk-',
      '-sk-',
      'ghp_',
      'xoxb-',
      'AKIA',
      '-----BEGIN ',
      '-----',
      'cookie:"',
    ],
    '-----BEGIN PRIVATE KEY-----',
  ])('searches a long repetition of %j in linear time', (unit) => {
    const text = unit.repeat(2 ** 20 / unit.length);
    expect(redactText(text, Infinity).length).toBeGreaterThan(0);
  });

  test('keeps secrets out of log lines, whatever value holds them', () => {
    const secret = 'hunter2-hunter2';
    const nested = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.record({ token: fc.constant(secret) }),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.string(), tie('tree'), { maxKeys: 3 }),
        fc.string(),
      ),
    })).tree;
    fc.assert(
      fc.property(nested, (details) => {
        const line = jsonForm({
          time: 0,
          level: 'info',
          event: 'test',
          message: 'm',
          details: { details },
        });
        expect(line).not.toContain(secret);
        expect(line.trimEnd()).not.toContain('\n');
        JSON.parse(line);
      }),
    );
  });
});

describe('values that a log cannot represent', () => {
  test('limits cycles, depth, breadth and length', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    expect(redact(cycle)).toEqual({ self: '[circular]' });
    expect(redact([[[[[[[1]]]]]]])).toEqual([[[[[['[array]']]]]]]);
    expect(redact(Array.from({ length: 60 }, () => 1))).toHaveLength(51);
    const wide = redact(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, i])));
    expect(wide).toMatchObject({ '…': '10 more' });
    expect(redact('x'.repeat(600))).toBe(`${'x'.repeat(500)}… (100 more)`);
  });

  test('converts values that JSON lacks to text', () => {
    const value = [1n, Number.NaN, () => 1, Symbol('s'), new Uint8Array(3), new Set([1]), null];
    const expected = ['1', 'NaN', '[function]', 'Symbol(s)', '[3 bytes]', [1], null];
    expect(redact(value)).toEqual(expected);
  });

  test("keeps an error's name, code, stack and cause", () => {
    const error = new TypeError('outer', { cause: new Error('inner, token=hunter2') });
    expect(redact(error)).toMatchObject({
      name: 'TypeError',
      message: 'outer',
      stack: expect.stringContaining('redaction.test.ts') as string,
      cause: { message: `inner, token=${redacted}` },
    });
  });

  test('survives an object that throws when it is read, and names it', () => {
    const trap = {
      get bad(): never {
        throw new Error('no');
      },
    };
    expect(redact({ trap, good: 1 })).toEqual({ trap: '[unreadable: Error: no]', good: 1 });
  });
});
