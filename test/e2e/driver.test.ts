/** The driver with real servers, according to its contract (docs/maintaining/driver.md). */
import { createRequire } from 'node:module';
import { afterEach, describe, expect, test } from 'vitest';
import { startProtected } from '../../packages/client/test/auth/protected-server.ts';
import { connect, small, textOf } from './driver-commands.ts';
import { sharedDriver, startDriver } from './driver-process.ts';
import type { DriverProcess } from './driver-process.ts';
import { launchLab } from './http-process.ts';
import { lab, reapServers } from './server-process.ts';

const { version } = createRequire(import.meta.url)('mcp-actors/package.json') as {
  readonly version: string;
};

afterEach(reapServers);

const takeDriver = sharedDriver();

const statesTold = ({ told }: DriverProcess) =>
  told.all.flatMap(({ event, state }) => (event === 'state' ? [state] : []));
const isGone = (pid: number) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

describe('the driver', () => {
  test('identifies itself first, and rejects invalid commands', async () => {
    const driver = startDriver();
    const hello = await driver.told.find(() => true);
    expect(hello).toMatchObject({
      event: 'hello',
      driver: `mcp-actors ${version}`,
    });
    driver.line('no json');
    driver.line('[]');
    const unknown = await driver.fail({ op: 'fly' });
    expect(unknown['code']).toBe('CONFIG');
    const refs = driver.told.all.flatMap(({ event, ref }) => (event === 'result' ? [ref] : []));
    expect(refs).toEqual([null, null, 'r1']);
    expect(await driver.fail({ op: 'ping', name: 'a' })).toMatchObject({ code: 'CONFIG' });
    expect(await driver.fail({ op: 'close', name: 'a' })).toMatchObject({ code: 'CONFIG' });
  });

  test('connects, lists, calls, reports the state and closes', async () => {
    const driver = takeDriver();
    const profile = await connect(driver, small('one', 'pid'));
    expect(profile).toMatchObject({ serverInfo: { name: 'small', version: '1.0.0' } });
    const { tools } = await driver.run({ op: 'listTools', name: 'a' });
    expect((tools as readonly { readonly name: string }[]).map(({ name }) => name)).toEqual([
      'one',
      'pid',
    ]);
    const result = await driver.run({
      op: 'callTool',
      name: 'a',
      tool: 'one',
      arguments: { text: 'x' },
    });
    expect(textOf(result)).toBe('one x');
    expect(await driver.run({ op: 'state', name: 'a' })).toMatchObject({
      state: 'ready',
      era: profile['era'],
      revision: profile['revision'],
      pending: 0,
      launches: 1,
    });
    const pid = Number(textOf(await driver.run({ op: 'callTool', name: 'a', tool: 'pid' })));
    expect(await driver.run({ op: 'close', name: 'a' })).toEqual({});
    expect(isGone(pid)).toBe(true);
    expect(statesTold(driver)).toEqual(['connecting', 'ready', 'closing', 'closed']);
  });

  test.each(['legacy', 'modern'])('uses the requested era: %s', async (era) => {
    const driver = takeDriver();
    expect(await connect(driver, small('one'), { era })).toMatchObject({ era });
    expect(textOf(await driver.run({ op: 'callTool', name: 'a', tool: 'one' }))).toBe('one');
  });

  test("distinguishes a server's error, a timeout and a cancellation", async () => {
    const driver = takeDriver();
    await connect(driver, small('one', 'hang'));
    const wrong = await driver.fail({ op: 'callTool', name: 'a', tool: 'none' });
    expect(wrong).toMatchObject({ code: 'RPC', rpcCode: -32602 });
    const late = await driver.fail({ op: 'callTool', name: 'a', tool: 'hang', timeoutMs: 200 });
    expect(late['code']).toBe('REQUEST_TIMEOUT');
    const target = driver.send({ op: 'callTool', name: 'a', tool: 'hang' });
    expect(await driver.run({ op: 'cancel', target })).toEqual({});
    expect(await driver.result(target)).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
    expect(await driver.run({ op: 'cancel', target: 'none' })).toEqual({});
    const deaf = driver.send({ op: 'connect', name: 'deaf', server: small('--deaf') });
    await driver.told.find(({ name, state }) => name === 'deaf' && state === 'connecting');
    await driver.run({ op: 'cancel', target: deaf });
    expect(await driver.result(deaf)).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
  });

  test('reports what cannot be started and what has ended', async () => {
    const driver = takeDriver();
    const missing = { op: 'connect', name: 'm', server: { command: 'no-such-command-anywhere' } };
    expect(await driver.fail(missing)).toMatchObject({ code: 'SPAWN' });
    expect(await driver.fail(missing)).toMatchObject({ code: 'SPAWN' });
    await connect(driver, small('die'), { restart: false });
    const lost = await driver.fail({ op: 'callTool', name: 'a', tool: 'die' });
    expect(lost).toMatchObject({ code: 'CLOSED', exitCode: 7 });
    await driver.told.find(({ name, state }) => name === 'a' && state === 'failed');
    expect(await driver.fail({ op: 'callTool', name: 'a', tool: 'die' })).toMatchObject({
      code: 'NOT_READY',
    });
    expect(await driver.run({ op: 'reconnect', name: 'a' })).toMatchObject({
      serverInfo: { name: 'small' },
    });
  });

  test('knows a name immediately, restarts a closed connection, and does not count a probe as pending', async () => {
    const driver = startDriver();
    const ready = driver.send({ op: 'connect', name: 'a', server: small('hang'), options: {} });
    expect(await driver.run({ op: 'listTools', name: 'a' })).toHaveProperty('tools.length', 1);
    expect(await driver.result(ready)).toMatchObject({ ok: true });
    expect(await driver.run({ op: 'state', name: 'a' })).toMatchObject({ pending: 0 });
    await driver.run({ op: 'close', name: 'a' });
    await driver.run({ op: 'reconnect', name: 'a' });
    expect(await driver.run({ op: 'state', name: 'a' })).toMatchObject({ state: 'ready' });
  });

  test('reconnects a lost connection according to its options', async () => {
    const driver = takeDriver();
    const restart = { initialMs: 10, maxMs: 10, factor: 1, maxAttempts: 2, stableMs: 60_000 };
    await connect(driver, small('die'), { restart });
    await driver.fail({ op: 'callTool', name: 'a', tool: 'die' });
    const backoff = await driver.told.find(({ state }) => state === 'backoff');
    expect(backoff).toMatchObject({ name: 'a', attempt: 1, delayMs: 10 });
    await driver.fail({ op: 'callTool', name: 'a', tool: 'die' });
    await driver.fail({ op: 'callTool', name: 'a', tool: 'die' });
    await driver.told.find(({ state }) => state === 'failed');
    expect(await driver.run({ op: 'state', name: 'a' })).toMatchObject({
      state: 'failed',
      launches: 3,
    });
    expect(statesTold(driver)).toEqual([
      'connecting',
      'ready',
      'backoff',
      'connecting',
      'ready',
      'backoff',
      'connecting',
      'ready',
      'failed',
    ]);
  });

  test('reports requests of the server before answering them', async () => {
    const driver = takeDriver();
    const elicitation = { result: { action: 'accept', content: { name: 'Ada' } } };
    await connect(driver, small('ask'), { providers: { elicitation } });
    const ref = driver.send({ op: 'callTool', name: 'a', tool: 'ask' });
    const { value } = await driver.result(ref);
    expect(textOf(value as Record<string, unknown>)).toContain('Ada');
    const order = driver.told.all.flatMap(({ event, method, ref: its }) =>
      event === 'asked' ? [method] : its === ref ? ['result'] : [],
    );
    expect(order).toEqual(['elicitation/create', 'result']);
  });

  test('manages several servers and calls their tools without naming the server', async () => {
    const driver = startDriver();
    const config = {
      mcpServers: {
        b: small('two'),
        a: small('one'),
        bad: { command: 5 },
        off: { ...small('x'), disabled: true },
      },
    };
    const { servers } = await driver.run({ op: 'manager', config, options: { startupMs: 20_000 } });
    expect(servers).toMatchObject({
      a: { state: 'ready' },
      b: { state: 'ready' },
      bad: { state: 'failed', error: { code: 'CONFIG' } },
      off: { state: 'disabled' },
    });
    const { tools } = await driver.run({ op: 'listTools' });
    expect(tools).toMatchObject([
      { name: 'a__one', server: 'a', tool: 'one' },
      { name: 'b__two', server: 'b', tool: 'two' },
    ]);
    expect(textOf(await driver.run({ op: 'callTool', tool: 'b__two' }))).toBe('two');
    expect(textOf(await driver.run({ op: 'callTool', name: 'a', tool: 'one' }))).toBe('one');
    expect(await driver.run({ op: 'servers' })).toMatchObject({
      a: { state: 'ready', launches: 1 },
    });
  });

  test('keeps the last stderr lines and all progress', async () => {
    const driver = takeDriver();
    const [program, ...args] = [process.execPath, ...lab];
    await connect(driver, { command: program, args }, { watch: true });
    const { tools } = await driver.told.find(({ event }) => event === 'tools');
    expect(tools).toContain('slow');
    const ref = driver.send({
      op: 'callTool',
      name: 'a',
      tool: 'slow',
      arguments: { ms: 300 },
      progress: true,
    });
    await driver.result(ref);
    expect(
      driver.told.all.find(({ event, ref: its }) => event === 'progress' && its === ref),
    ).toMatchObject({
      progress: expect.any(Number),
    });
    expect(await driver.run({ op: 'stderr', name: 'a' })).toEqual({
      text: expect.any(String),
      bytes: expect.any(Number),
    });
  });

  test.each(['legacy', 'modern'])('connects over HTTP, in the era %s', async (era) => {
    const { url } = await launchLab();
    const driver = takeDriver();
    const server = { type: 'http', url: url.href };
    expect(await connect(driver, server, { era })).toMatchObject({
      era,
      serverInfo: { name: 'lab' },
    });
    const result = await driver.run({
      op: 'callTool',
      name: 'a',
      tool: 'echo',
      arguments: { message: 'hi' },
    });
    expect(result).toMatchObject({ structuredContent: { message: 'hi' } });
    await driver.run({ op: 'close', name: 'a' });
  });

  test('connects over the transport of 2024-11-05', async () => {
    const { url } = await launchLab('--sse');
    const driver = takeDriver();
    const server = { type: 'sse', url: new URL('/sse', url).href };
    expect(await connect(driver, server)).toMatchObject({ serverInfo: { name: 'lab' } });
    const echo = { op: 'callTool', name: 'a', tool: 'echo', arguments: { message: 'hi' } };
    expect(await driver.run(echo)).toMatchObject({ structuredContent: { message: 'hi' } });
    await driver.run({ op: 'close', name: 'a' });
  });

  test('logs in as a person who agrees, and rejects the state of another login', async () => {
    const { url } = await startProtected();
    const driver = takeDriver();
    const server = { type: 'http', url: url.href };
    const refused = await driver.fail({ op: 'connect', name: 'x', server });
    expect(refused['code']).toBe('AUTH');
    expect(await connect(driver, server, { auth: {} })).toMatchObject({
      serverInfo: { name: 'notes' },
    });
    expect(driver.told.all.filter(({ event }) => event === 'authorize')).toHaveLength(1);
    const read = await driver.run({ op: 'callTool', name: 'a', tool: 'read' });
    expect(textOf(read)).toBe('read');
    const options = { auth: { wrongState: true } };
    const forged = await driver.fail({ op: 'connect', name: 'y', server, options });
    expect(forged['code']).toBe('AUTH');
    await driver.run({ op: 'close', name: 'a' });
  });

  test('ends every server and itself on shutdown and at the end of input', async () => {
    const driver = startDriver();
    await connect(driver, small('pid'));
    const pid = Number(textOf(await driver.run({ op: 'callTool', name: 'a', tool: 'pid' })));
    const ref = driver.send({ op: 'shutdown' });
    expect(await driver.exited).toBe(0);
    expect(await driver.result(ref)).toMatchObject({ ok: true });
    expect(isGone(pid)).toBe(true);

    const other = startDriver();
    await connect(other, small('pid'));
    const second = Number(textOf(await other.run({ op: 'callTool', name: 'a', tool: 'pid' })));
    expect(await other.end()).toBe(0);
    expect(isGone(second)).toBe(true);
  });
});
