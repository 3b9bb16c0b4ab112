/** Guarantees of the driver for every command (docs/maintaining/driver.md). */
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { call, connect, small, textOf } from './driver-commands.ts';
import { sharedDriver, startDriver } from './driver-process.ts';
import type { DriverProcess, Told } from './driver-process.ts';
import { lab, reapServers } from './server-process.ts';

afterEach(reapServers);

const takeDriver = sharedDriver();

const oddServer = fileURLToPath(
  new URL('../../packages/client/test/odd-server.mjs', import.meta.url),
);
const odd = (what: string) => ({ command: process.execPath, args: [oddServer, what] });
const statesOf = ({ told }: DriverProcess, name: string) =>
  told.all.flatMap((line) =>
    line.event === 'state' && line['name'] === name ? [line['state']] : [],
  );
const reached = ({ told }: DriverProcess, name: string, state: string): Promise<Told> =>
  told.find((line) => line.event === 'state' && line['name'] === name && line['state'] === state);
const never = 600_000;

const faults: readonly (readonly [object, string])[] = [
  [{ op: 'connect', name: 'b' }, 'server must be an object'],
  [{ op: 'connect', name: 5, server: small() }, 'name must be a string'],
  [{ op: 'connect', name: 'b', server: { command: 5 } }, 'server.command must be a string'],
  [{ op: 'connect', name: 'b', server: { type: 'http' } }, 'server.url must be a string'],
  [{ op: 'connect', name: 'b', server: small(), options: { era: 'old' } }, 'options.era'],
  [{ op: 'connect', name: 'b', server: small(), options: { restart: true } }, 'options.restart'],
  [
    { op: 'connect', name: 'b', server: small(), options: { providers: { sampling: {} } } },
    'options.providers.sampling must have one of',
  ],
  [{ op: 'connect', name: 'b', server: { type: 'wss', url: 'x' } }, 'server.type must be one of'],
  [{ op: 'callTool', name: 'a' }, 'tool must be a string'],
  [{ ...call('one'), timeoutMs: '5' }, 'timeoutMs must be a number'],
  [{ op: 'callTool', name: 'a', tool: 'one', arguments: 'x' }, 'arguments must be an object'],
  [{ op: 'request', name: 'a' }, 'method must be a string'],
  [{ op: 'readResource', name: 'a' }, 'uri must be a string'],
  [{ op: 'setRoots', name: 'a' }, 'roots must be an array'],
  [{ op: 'state' }, 'name must be a string'],
  [{ op: 'cancel' }, 'target must be a string'],
  [{ op: 'manager', config: [] }, 'config must be an object'],
];

describe('a driver command', () => {
  test('is rejected with CONFIG naming the problem if invalid', async () => {
    const driver = takeDriver();
    for (const [wrong, message] of faults) {
      expect(await driver.fail(wrong)).toMatchObject({
        code: 'CONFIG',
        message: expect.stringContaining(message) as string,
      });
    }
  });

  test('is rejected with UNSUPPORTED for an unknown option', async () => {
    const driver = takeDriver();
    for (const options of [{ fly: true }, { auth: { realm: 'x' } }]) {
      const wrong = { op: 'connect', name: 'b', server: small(), options };
      expect(await driver.fail(wrong)).toMatchObject({ code: 'UNSUPPORTED' });
    }
    const config = { mcpServers: {} };
    const wrong = { op: 'manager', config, options: { fly: true } };
    expect(await driver.fail(wrong)).toMatchObject({ code: 'UNSUPPORTED' });
  });

  test('is rejected without a ref if the ref is missing or in use', async () => {
    const driver = takeDriver();
    await connect(driver, small('hang'));
    const ref = driver.send(call('hang'));
    driver.line('{"op":"servers"}');
    driver.line('{"op":"servers","ref":5}');
    driver.line(JSON.stringify({ op: 'servers', ref }));
    let count = 0;
    await driver.told.find(
      (line) => line.event === 'result' && line['ref'] === null && ++count === 3,
    );
    expect(driver.told.all.filter((line) => line['ref'] === ref)).toEqual([]);
  });

  test('ends with a line feed, or at the end of input', async () => {
    const driver = startDriver();
    await connect(driver, small('one'));
    expect(textOf(await driver.run(call('one', { text: 'a\u2028b\u0085c' })))).toBe(
      'one a\u2028b\u0085c',
    );
    driver.text('{"op":"servers","ref":"last"}');
    expect(await driver.end()).toBe(0);
    expect(await driver.result('last')).toMatchObject({ ok: true });
  });

  test('gets its result before the driver exits, and opens nothing afterwards', async () => {
    const driver = startDriver();
    await connect(driver, small('hang'));
    const pending = driver.send(call('hang'));
    const connecting = driver.send({ op: 'connect', name: 'b', server: small('--deaf') });
    const mcpServers = { c: small('--deaf') };
    const managing = driver.send({
      op: 'manager',
      config: { mcpServers },
      options: { startupMs: never },
    });
    const shutdown = driver.send({ op: 'shutdown' });
    const late = driver.send({ op: 'connect', name: 'd', server: small('one') });
    const again = driver.send({ op: 'reconnect', name: 'a' });
    expect(await driver.exited).toBe(0);
    const resultOf = (ref: string) =>
      driver.told.all.filter((line) => line.event === 'result' && line['ref'] === ref);
    const failed = (code: string) => [{ ok: false, error: { code } }];
    expect(resultOf(pending)).toMatchObject(failed('CLOSED'));
    expect(resultOf(connecting)).toMatchObject(failed('CLOSED'));
    expect(resultOf(managing)).toMatchObject([{ value: { servers: { c: { state: 'closed' } } } }]);
    expect(resultOf(shutdown)).toMatchObject([{ ok: true, value: {} }]);
    expect(resultOf(shutdown)[0]?.['value']).toEqual({});
    expect(resultOf(late)).toMatchObject(failed('NOT_READY'));
    expect(resultOf(again)).toMatchObject(failed('NOT_READY'));
  });

  test('runs after earlier commands of the same turn', async () => {
    const driver = takeDriver();
    await connect(driver, small('one', 'hang'));
    const lines = [
      { ...call('hang'), ref: 'before' },
      { op: 'reconnect', name: 'a', ref: 'anew' },
      { ...call('one'), ref: 'after' },
    ];
    driver.line(lines.map((line) => JSON.stringify(line)).join('\n'));
    expect(await driver.result('before')).toMatchObject({ error: { code: 'CLOSED' } });
    expect(await driver.result('anew')).toMatchObject({ ok: true });
    expect(await driver.result('after')).toMatchObject({ ok: true });
  });
});

describe('connection states of the driver', () => {
  test('are reported once each, even if attempts restart from 0', async () => {
    const driver = takeDriver();
    const restart = { initialMs: 1, maxMs: 1, factor: 1, maxAttempts: 2, stableMs: 1 };
    await connect(driver, small('die', 'one'), { restart, era: 'legacy' });
    await driver.fail(call('die'));
    let count = 0;
    await driver.told.find((line) => line['state'] === 'ready' && ++count === 2);
    // The connection becomes stable meanwhile.
    for (let calls = 0; calls < 5; calls++) await driver.run(call('one'));
    await driver.run({ op: 'close', name: 'a' });
    expect(statesOf(driver, 'a')).toEqual([
      ...['connecting', 'ready', 'backoff', 'connecting', 'ready', 'closing', 'closed'],
    ]);
  });

  test('start over with reconnect, from any state', async () => {
    const driver = startDriver();
    const options = { stop: { stdinMs: 1 } };
    const ready = driver.send({ op: 'connect', name: 'a', server: odd('endless'), options });
    // From the state connecting: waiting calls get the new connection.
    expect(await driver.run({ op: 'reconnect', name: 'a' })).toMatchObject({ era: 'legacy' });
    expect(await driver.result(ready)).toMatchObject({ ok: true });
    const closing = driver.send({ op: 'close', name: 'a' });
    await reached(driver, 'a', 'closing');
    const [first, second] = ['reconnect', 'reconnect'].map((op) => driver.send({ op, name: 'a' }));
    for (const ref of [closing, first, second]) {
      expect(await driver.result(ref as string)).toMatchObject({ ok: true });
    }
    expect(await driver.run({ op: 'state', name: 'a' })).toMatchObject({ launches: 1 });
  });

  test('with restart: false allow only the extra launch that detects the era', async () => {
    const driver = takeDriver();
    const launchesOf = async (what: string, era: string): Promise<unknown> => {
      // The process ends before the probe times out, however long it takes to start.
      const options = { restart: false, era, probeMs: never };
      await driver.result(driver.send({ op: 'connect', name: what, server: odd(what), options }));
      return (await driver.run({ op: 'state', name: what }))['launches'];
    };
    // The server exits on the probe, which identifies its era and is not a failure.
    expect(await launchesOf('dies-on-probe', 'auto')).toBe(2);
    expect(statesOf(driver, 'dies-on-probe')).toEqual(['connecting', 'ready']);
    expect(await launchesOf('dies', 'auto')).toBe(2);
    expect(statesOf(driver, 'dies')).toEqual(['connecting', 'failed']);
    expect(await launchesOf('refuses', 'legacy')).toBe(1);
    await driver.run({ op: 'close', name: 'dies' });
    expect(await launchesOf('dies', 'legacy')).toBe(1);
  });
});

describe('a manager of the driver', () => {
  test('has the tools of ready servers, reports their lists, and reconnects one', async () => {
    const driver = startDriver();
    const mcpServers = {
      a: small('one'),
      deaf: small('--deaf'),
      off: { ...small(), disabled: true },
    };
    const options = { watch: true, startupMs: 1, connectMs: never };
    const { servers } = await driver.run({ op: 'manager', config: { mcpServers }, options });
    expect(servers).toMatchObject({ deaf: { state: 'connecting' } });
    await driver.told.find((line) => line.event === 'tools');
    expect(driver.told.all.filter(({ event }) => event === 'tools')).toEqual([
      { event: 'tools', name: 'a', tools: ['one'] },
    ]);
    expect(await driver.run({ op: 'state', name: 'off' })).toEqual({
      ...{ state: 'disabled', pending: 0, launches: 0 },
    });
    expect(await driver.run({ op: 'servers' })).toMatchObject({
      a: { state: 'ready' },
      deaf: { state: 'connecting' },
    });
    expect(await driver.run({ op: 'listTools' })).toMatchObject({ tools: [{ name: 'a__one' }] });
    const taken = { op: 'connect', name: 'a', server: small('one') };
    expect(await driver.fail(taken)).toMatchObject({ code: 'CONFIG' });
    await driver.run({ op: 'close', name: 'a' });
    expect(await driver.run({ op: 'reconnect', name: 'a' })).toMatchObject({ era: 'modern' });
    expect(await driver.run({ op: 'servers' })).toMatchObject({
      a: { state: 'ready', launches: 2 },
    });
  });
});

test('reports a refreshed list once', async () => {
  const driver = takeDriver();
  const [program, ...args] = [process.execPath, ...lab];
  await connect(driver, { command: program, args }, { watch: true });
  await driver.told.find((line) => line.event === 'tools');
  await driver.run({ op: 'listTools', name: 'a', refresh: true });
  await driver.run(call('change', { what: 'tools' }));
  let count = 0;
  await driver.told.find((line) => line.event === 'tools' && ++count === 3);
  await driver.run({ op: 'close', name: 'a' });
  expect(driver.told.all.filter(({ event }) => event === 'tools')).toHaveLength(3);
});
