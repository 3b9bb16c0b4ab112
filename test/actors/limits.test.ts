import { createMcpServer, memory } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { defaultLimits, mergeLimits } from '../../src/actors/limits.ts';

describe('limits', () => {
  test('that are given take the place of the defaults', () => {
    expect(mergeLimits({ maxRunning: 1, keepaliveIntervalMs: 0 })).toEqual({
      ...defaultLimits,
      maxRunning: 1,
      keepaliveIntervalMs: 0,
    });
  });

  test('that are undefined stay the defaults', () => {
    expect(mergeLimits({ maxRunning: undefined })).toEqual(defaultLimits);
  });

  test.each(Object.keys(defaultLimits))('%s is a number, and not below 0', (name) => {
    for (const value of [NaN, -1, '5', null]) {
      expect(() => mergeLimits({ [name]: value })).toThrow(RangeError);
      expect(() => mergeLimits({ [name]: value })).toThrow(`limits.${name} must be a number of at`);
    }
    expect(mergeLimits({ [name]: Infinity })).toHaveProperty(name, Infinity);
  });

  test.each(['maxRunning', 'pageSize'])('%s is not 0: nothing would ever come', (name) => {
    expect(() => mergeLimits({ [name]: 0 })).toThrow(
      `limits.${name} must be a number of at least 1, got 0`,
    );
  });

  test('are refused before there is a session', () => {
    const server = createMcpServer({ name: 'bounded', version: '1', tools: [] });
    const listen = () => server.listen(memory().transport, { limits: { maxRunning: NaN } });
    expect(listen).toThrow('limits.maxRunning must be a number of at least 1, got NaN');
  });
});
