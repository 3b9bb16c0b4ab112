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

describe('a request is enveloped', () => {
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
  ])('by one of the keys that it must have: %j is %s', (meta, expected) => {
    expect(isEnveloped({ _meta: meta })).toBe(expected);
  });

  test('never without params', () => expect(isEnveloped(undefined)).toBe(false));
});

describe('an envelope', () => {
  test('says who the client is, and what it wants to hear', () => {
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

  test('may leave out the identity and the level of log messages: then none are wanted', () => {
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
  ])('with a fault is -32602 that names it: %j', (meta, message) => {
    expect(errorOf(meta)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(message) as string,
    });
  });

  test.each(['2025-11-25', '2099-01-01', '', '__proto__', 'constructor'])(
    'of a version that no request may name is -32022 with those that it may: %j',
    (requested) => {
      expect(errorOf({ ...good, [MetaKey.protocolVersion]: requested })).toMatchObject({
        code: -32022,
        message: expect.stringContaining('2026-07-28') as string,
        data: { supported: ['2026-07-28'], requested },
      });
    },
  );

  test('of a version of a million characters is refused in few words', () => {
    const error = errorOf({ ...good, [MetaKey.protocolVersion]: 'v'.repeat(1_000_000) });
    expect(JSON.stringify(error).length).toBeLessThan(400);
  });

  test('has ordinary keys alone: "__proto__" is one of them', () => {
    const text = `{"_meta":{"__proto__":${JSON.stringify(good)}}}`;
    expect(isEnveloped(JSON.parse(text) as JsonObject)).toBe(false);
    const polluted = `{"_meta":{"__proto__":{"x":1},${JSON.stringify(good).slice(1)}}`;
    expect(readEnvelope(JSON.parse(polluted) as JsonObject).ok).toBe(true);
    expect({}).not.toHaveProperty('x');
  });
});
