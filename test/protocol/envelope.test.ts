import { describe, expect, test } from 'vitest';
import { isEnveloped, readEnvelope } from '../../src/protocol/envelope.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { MetaKey } from '../../src/protocol/meta.ts';

const good = {
  [MetaKey.protocolVersion]: '2026-07-28',
  [MetaKey.clientCapabilities]: { sampling: {} },
  [MetaKey.clientInfo]: { name: 'host', version: '1', title: 'Host' },
  [MetaKey.logLevel]: 'warning',
};
const without = (key: string): JsonObject =>
  Object.fromEntries(Object.entries(good).filter(([name]) => name !== key));
const errorOf = (meta: unknown) => {
  const reading = readEnvelope({ _meta: meta });
  return reading.ok ? undefined : reading.error;
};

describe('isEnveloped', () => {
  test.each([
    [good, true],
    [without(MetaKey.protocolVersion), true],
    [without(MetaKey.clientCapabilities), true],
    [{ [MetaKey.protocolVersion]: null }, true],
    [{ [MetaKey.clientInfo]: {} }, false],
    [{ progressToken: 1 }, false],
    [{}, false],
    [[], false],
    ['2026-07-28', false],
    [undefined, false],
  ])('detects either of the required keys: %j is %s', (meta, expected) => {
    expect(isEnveloped({ _meta: meta })).toBe(expected);
  });

  test('is false without params', () => expect(isEnveloped(undefined)).toBe(false));
});

describe('readEnvelope', () => {
  test("returns the client's identity and log level", () => {
    expect(readEnvelope({ _meta: good })).toMatchObject({
      ok: true,
      peer: {
        dialect: { version: '2026-07-28' },
        requestedVersion: '2026-07-28',
        info: { name: 'host', version: '1', title: 'Host' },
        capabilities: { sampling: {} },
      },
      logLevel: 'warning',
    });
  });

  test('allows identity and log level to be absent, which disables log messages', () => {
    const meta = { [MetaKey.protocolVersion]: '2026-07-28', [MetaKey.clientCapabilities]: {} };
    expect(readEnvelope({ _meta: meta })).toMatchObject({
      peer: { info: { name: 'anonymous' }, capabilities: {} },
      logLevel: 'none',
    });
  });

  test.each([
    [
      without(MetaKey.protocolVersion),
      `"_meta" of a request must have "${MetaKey.protocolVersion}"`,
    ],
    [without(MetaKey.clientCapabilities), `must have "${MetaKey.clientCapabilities}"`],
    [{}, `must have "${MetaKey.protocolVersion}" and "${MetaKey.clientCapabilities}"`],
    [undefined, `must have "${MetaKey.protocolVersion}" and "${MetaKey.clientCapabilities}"`],
    [[], '"_meta" must be an object, got an array'],
    [{ ...good, [MetaKey.protocolVersion]: 20260728 }, 'must be a string, got 20260728'],
    [{ ...good, [MetaKey.protocolVersion]: null }, 'must be a string, got null'],
    [{ ...good, [MetaKey.clientCapabilities]: [] }, 'must be an object, got an array'],
    [{ ...good, [MetaKey.clientCapabilities]: null }, 'must be an object, got null'],
    [{ ...good, [MetaKey.clientInfo]: 'host' }, 'must be an object, got "host"'],
    [{ ...good, [MetaKey.clientInfo]: { version: '1' } }, `"${MetaKey.clientInfo}.name"`],
    [{ ...good, [MetaKey.clientInfo]: { name: 'host', version: 1 } }, 'must be a string, got 1'],
    [
      { ...good, [MetaKey.logLevel]: 'loud' },
      `"${MetaKey.logLevel}" in "_meta" must be one of debug,`,
    ],
    [{ ...good, [MetaKey.logLevel]: null }, 'got null'],
  ])('rejects an invalid member with -32602 naming it: %j', (meta, message) => {
    expect(errorOf(meta)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(message) as string,
    });
  });

  test.each(['2025-11-25', '2099-01-01', '', '__proto__', 'constructor'])(
    'rejects an unsupported version with -32022 and the supported ones: %j',
    (requested) => {
      expect(errorOf({ ...good, [MetaKey.protocolVersion]: requested })).toMatchObject({
        code: -32022,
        message: expect.stringContaining('2026-07-28') as string,
        data: { supported: ['2026-07-28'], requested },
      });
    },
  );

  test('truncates a rejected version of a million characters', () => {
    const error = errorOf({ ...good, [MetaKey.protocolVersion]: 'v'.repeat(1_000_000) });
    expect(JSON.stringify(error).length).toBeLessThan(400);
  });

  test('treats "__proto__" as an ordinary key', () => {
    const text = `{"_meta":{"__proto__":${JSON.stringify(good)}}}`;
    expect(isEnveloped(JSON.parse(text) as JsonObject)).toBe(false);
    const polluted = `{"_meta":{"__proto__":{"x":1},${JSON.stringify(good).slice(1)}}`;
    expect(readEnvelope(JSON.parse(polluted) as JsonObject).ok).toBe(true);
    expect({}).not.toHaveProperty('x');
  });
});
