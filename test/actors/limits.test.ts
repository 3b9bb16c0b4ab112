import { createMcpServer, memory } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { defaultLimits, mergeLimits } from '../../src/actors/limits.ts';

describe('limits of a session', () => {
  test('override the defaults', () => {
    expect(mergeLimits({ maxRunning: 1, keepaliveIntervalMs: 0 })).toEqual({
      ...defaultLimits,
      maxRunning: 1,
      keepaliveIntervalMs: 0,
    });
  });

  test('keep the defaults where undefined', () => {
    expect(mergeLimits({ maxRunning: undefined })).toEqual(defaultLimits);
  });

  test.each(Object.keys(defaultLimits))('require a non-negative number for %s', (name) => {
    for (const value of [NaN, -1, '5', null]) {
      expect(() => mergeLimits({ [name]: value })).toThrow(RangeError);
      expect(() => mergeLimits({ [name]: value })).toThrow(`limits.${name} must be a number of at`);
    }
    expect(mergeLimits({ [name]: Infinity })).toHaveProperty(name, Infinity);
  });

  test.each(['maxRunning', 'pageSize'])(
    'require at least 1 for %s, as with 0 nothing would ever run',
    (name) => {
      expect(() => mergeLimits({ [name]: 0 })).toThrow(
        `limits.${name} must be a number of at least 1, got 0`,
      );
    },
  );

  test('are validated before a session starts', () => {
    const server = createMcpServer({ name: 'bounded', version: '1', tools: [] });
    const listen = () => server.listen(memory().transport, { limits: { maxRunning: NaN } });
    expect(listen).toThrow('limits.maxRunning must be a number of at least 1, got NaN');
  });
});
