import { logLevels } from 'mcp-actors';
import type { JsonObject, LogLevel } from 'mcp-actors';
import type { LoggingOptions } from '../../src/server/context/session-log.ts';
import { cancelled, gate, request, toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { eachRevisionAndHttp, everywhere } from '../contract/everywhere.ts';
import { initialize, operateWarm, serve, tool } from '../contract/serving.ts';
import type { ServingOptions, Serving } from '../contract/serving.ts';

const message = 'notifications/message';

/** Logs `lines`: a level, data, and a logger's name if any. */
const log = tool('log', ({ lines }, context) => {
  for (const [level, data, logger] of lines as readonly [LogLevel, unknown, string?][]) {
    context.log[level](data, logger);
  }
  return 'logged';
});

const start = (options?: ServingOptions, logging: LoggingOptions = {}) =>
  operateWarm({ logging, tools: [log] }, options);
const logged = ({ peer }: Pick<Serving, 'peer'>) =>
  (peer.received as readonly JsonObject[])
    .filter(({ method }) => method === message)
    .map(({ params }) => params as JsonObject);
const everyLevel = logLevels.map((level) => [level, level]);

everywhere('logging', eachRevisionAndHttp, (combination) => {
  test('declares logging and sends messages at or above the level [LOG-01] [LOG-02]', async () => {
    const serving = serve({ logging: {}, tools: [log] }, combination);
    const { peer } = serving;
    const reply = await peer.handshake({ protocolVersion: combination.revision });
    expect(reply['capabilities']).toMatchObject({ logging: {} });
    await peer.call('log', { lines: everyLevel });
    expect(logged(serving).map(({ level }) => level)).toEqual(logLevels.slice(1));
    for (const [at, level] of logLevels.entries()) {
      const before = logged(serving).length;
      expect(await peer.ask('logging/setLevel', { level })).toEqual({});
      await peer.call('log', { lines: everyLevel });
      const told = logged(serving).slice(before);
      expect(told.map((each) => each['level'])).toEqual(logLevels.slice(at));
    }
  });

  test('rejects an unknown level and keeps the current one [LOG-03]', async () => {
    const serving = await start(combination);
    const { peer } = serving;
    await peer.ask('logging/setLevel', { level: 'error' });
    for (const level of ['verbose', 'ERROR', '', 3, null, undefined]) {
      peer.send(request('bad', 'logging/setLevel', { level }));
      const error = await peer.error('bad');
      expect(error.code).toBe(-32602);
      expect(error.message).toMatch(/"level" must be one of debug, info, .*emergency, got/);
    }
    await peer.call('log', { lines: everyLevel });
    expect(logged(serving)[0]?.['level']).toBe('error');
  });

  test('neither offers nor sends logs without declared logging [LOG-01]', async () => {
    const serving = await operateWarm({ tools: [log] }, combination);
    const { peer, facts } = serving;
    peer.send(request(1, 'logging/setLevel', { level: 'info' }));
    expect((await peer.error(1)).code).toBe(-32601);
    await peer.call('log', { lines: everyLevel });
    expect(logged(serving)).toEqual([]);
    expect(facts.of('log.unsent')).toHaveLength(1);
    expect(facts.of('log.unsent')[0]?.message).toContain('"logging"');
  });
});

describe('a log message', () => {
  test.each<[unknown, unknown]>([
    ['text', 'text'],
    [{ a: [1, null] }, { a: [1, null] }],
    [0, 0],
    [false, false],
    [null, null],
    [undefined, null],
    [new RangeError('too far'), { name: 'RangeError', message: 'too far' }],
  ])('sends %j as %j [LOG-04]', async (data, told) => {
    const say = tool('say', (_, context) => {
      context.log.notice(data);
      context.log.notice(data, 'database');
      return '';
    });
    const serving = await operateWarm({ logging: {}, tools: [say] });
    await serving.peer.call('say');
    expect(logged(serving)).toEqual([
      { level: 'notice', data: told },
      { level: 'notice', logger: 'database', data: told },
    ]);
  });

  test('respects the initial level of the server [LOG-02]', async () => {
    const serving = await start({}, { level: 'alert' });
    await serving.peer.call('log', { lines: everyLevel });
    expect(logged(serving).map(({ level }) => level)).toEqual(['alert', 'emergency']);
  });

  test('is reported and dropped if it is not serializable [LOG-06]', async () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const say = tool('say', (_, context) => {
      for (const data of [
        circular,
        1n,
        {
          toJSON: () => {
            throw new Error('a bug');
          },
        },
      ]) {
        context.log.error(data);
      }
      context.log.error('after');
      return '';
    });
    const serving = await operateWarm({ logging: {}, tools: [say] });
    await serving.peer.call('say');
    expect(logged(serving)).toEqual([{ level: 'error', data: 'after' }]);
    expect(serving.facts.of('log.unsent')).toHaveLength(3);
  });

  test('is dropped after the end of its request [LOG-06]', async () => {
    const door = gate();
    const late = tool('late', async (_, context) => {
      context.log.info('in time');
      await door.pass();
      context.log.info('too late');
      return '';
    });
    const serving = await operateWarm({ logging: {}, tools: [late] });
    const { peer } = serving;
    peer.send(toolCall(1, 'late'));
    await door.arrived();
    peer.send(cancelled(1));
    await peer.quiet();
    door.release();
    await peer.quiet();
    expect(logged(serving)).toEqual([{ level: 'info', data: 'in time' }]);
  });

  test('is sent after the initialize result, even before initialized [LOG-04] [LIFE-05]', async () => {
    const serving = serve({ logging: {}, tools: [log] });
    const { peer } = serving;
    peer.send(initialize(1), toolCall(2, 'log', { lines: [['info', 'early']] }));
    await peer.response(2);
    expect(peer.received.map((frame) => (frame as JsonObject)['id'] ?? message)).toEqual([
      1,
      message,
      2,
    ]);
  });
});

describe('more log messages than the limit', () => {
  const limits = { maxLogsPerSecond: 3 };
  const lines = (level: LogLevel, count: number) =>
    Array.from({ length: count }, (_, n) => [level, n]);

  test('are dropped and summarized in one message within a second [LOG-05]', async () => {
    const serving = await start({ limits });
    const { peer, clock, facts } = serving;
    await peer.call('log', { lines: [...lines('info', 5), ['error', 'x'], ...lines('info', 5)] });
    expect(logged(serving)).toHaveLength(3);
    clock.increment(999);
    await peer.quiet();
    expect(logged(serving)).toHaveLength(3);
    clock.increment(1);
    await peer.quiet();
    const summary = logged(serving).slice(3);
    expect(summary).toEqual([
      {
        level: 'error',
        logger: 'mcp-actors',
        data: {
          omitted: 8,
          message: expect.stringContaining('8 log messages were dropped') as string,
        },
      },
    ]);
    expect(facts.of('log.unsent')).toHaveLength(1);
    await peer.call('log', { lines: lines('info', 2) });
    clock.increment(5000);
    await peer.quiet();
    expect(logged(serving)).toHaveLength(6);
  });

  test('are counted per session, not per call [LOG-05]', async () => {
    const serving = await start({ limits });
    const { peer } = serving;
    for (let n = 0; n < 5; n++) await peer.call('log', { lines: lines('info', 2) });
    expect(logged(serving)).toHaveLength(3);
  });

  test('do not include messages below the level, nor a summary below it [LOG-05] [LOG-02]', async () => {
    const serving = await start({ limits });
    const { peer, clock } = serving;
    await peer.call('log', { lines: [...lines('debug', 50), ...lines('info', 4)] });
    expect(logged(serving)).toHaveLength(3);
    await peer.ask('logging/setLevel', { level: 'error' });
    clock.increment(1000);
    await peer.quiet();
    expect(logged(serving)).toHaveLength(3);
  });

  test('leave no timer when the session ends [LOG-05]', async () => {
    const { peer, session, clock } = await start({ limits });
    await peer.call('log', { lines: lines('info', 9) });
    expect(clock.liveTimers).toBe(1);
    await session[Symbol.asyncDispose]();
    expect(clock.liveTimers).toBe(0);
  });
});
