/** Guarantees of a Redis connection, with a client whose replies the test controls. */
import { ErrorReply } from 'redis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RedisConnection, luaScript } from '../src/connection.ts';
import type { RedisClientLike, RedisConnectionOptions } from '../src/connection.ts';

interface Sent {
  readonly args: readonly unknown[];
  answer(reply: unknown): void;
  fail(error: unknown): void;
}

class HeldClient implements RedisClientLike {
  isOpen = true;
  readonly sent: Sent[] = [];
  readonly duplicates: HeldClient[] = [];
  connecting: () => Promise<unknown> = () => Promise.resolve();

  connect(): Promise<unknown> {
    return this.connecting().then(() => (this.isOpen = true));
  }

  duplicate(): HeldClient {
    const client = new HeldClient();
    this.duplicates.push(client);
    return client;
  }

  destroy(): void {
    this.isOpen = false;
  }

  on(): void {}

  async subscribe(): Promise<void> {}

  sendCommand(...args: unknown[]): Promise<unknown> {
    return new Promise((answer, fail) => {
      this.sent.push({ args, answer, fail });
    });
  }
}

async function connected(options: Partial<RedisConnectionOptions> = {}, client = new HeldClient()) {
  const connection = new RedisConnection({
    ...{ client, commandTimeoutMs: 1000, maxCommands: 100, maxCommandBytes: 1000 },
    ...{ socketTimeoutMs: 10_000, maxReconnectMs: 1000 },
    ...options,
  });
  await connection.open();
  const last = () => client.sent.at(-1) as Sent;
  return { connection, client, last };
}

/** Reply of a command, or its fault. */
const outcome = (command: Promise<unknown>) =>
  command.catch(({ fault, retryAfterMs }: Record<string, unknown>) => [fault, retryAfterMs]);

const busy = ['busy', 1000];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('RedisConnection', () => {
  test('sends at most maxCommands at once, and more with each reply', async () => {
    const { connection, client } = await connected({ maxCommands: 2 });
    const [first, second] = [connection.command(['A']), connection.command(['B'])];
    expect(await outcome(connection.command(['C']))).toEqual(busy);
    client.sent[0]?.answer('a');
    expect(await first).toBe('a');
    const third = connection.command(['C']);
    expect(await outcome(connection.command(['D']))).toEqual(busy);
    client.sent[1]?.fail(new ErrorReply('ERR no'));
    expect(await outcome(second)).toEqual(['refused', 10_000]);
    const fourth = connection.command(['D']);
    for (const { answer } of client.sent) answer('done');
    expect(await Promise.all([third, fourth])).toEqual(['done', 'done']);
    expect(client.sent.map(({ args }) => args)).toEqual([[['A']], [['B']], [['C']], [['D']]]);
  });

  test('sends at most maxCommandBytes at once, except a single larger command', async () => {
    const { connection, client, last } = await connected({ maxCommandBytes: 10 });
    const long = connection.command(['SET', 'a'.repeat(20)]);
    expect(await outcome(connection.command(['A']))).toEqual(busy);
    last().answer('OK');
    expect(await long).toBe('OK');
    const [four, six] = [connection.command(['GET', 'a']), connection.command(['GET', 'abc'])];
    expect(await outcome(connection.command(['A']))).toEqual(busy);
    client.sent[1]?.answer('1');
    expect(await four).toBe('1');
    const more = connection.command(['GET', 'b']);
    expect(await outcome(connection.command(['A']))).toEqual(busy);
    for (const { answer } of client.sent) answer('2');
    expect(await Promise.all([six, more])).toEqual(['2', '2']);
  });

  test('settles every command within commandTimeoutMs', async () => {
    const { connection, client } = await connected({ maxCommandBytes: 2 });
    const first = outcome(connection.command(['A']));
    await vi.advanceTimersByTimeAsync(600);
    const second = outcome(connection.command(['B']));
    await vi.advanceTimersByTimeAsync(399);
    expect(await outcome(connection.command(['C']))).toEqual(busy);
    await vi.advanceTimersByTimeAsync(2);
    expect(await first).toEqual(['slow', 1000]);
    // A given client reconnects itself; the next command finds out.
    const third = outcome(connection.command(['C']));
    client.sent[2]?.answer('c');
    expect(await third).toBe('c');
    await vi.advanceTimersByTimeAsync(598);
    // Late replies have no recipient.
    client.sent[0]?.answer('a');
    await vi.advanceTimersByTimeAsync(0);
    const fourth = outcome(connection.command(['D']));
    expect(await outcome(connection.command(['E']))).toEqual(busy);
    await vi.advanceTimersByTimeAsync(2);
    expect(await second).toEqual(['slow', 1000]);
    client.sent[3]?.answer('d');
    expect(await fourth).toBe('d');
    await vi.advanceTimersByTimeAsync(1000);
    const last = outcome(connection.command(['F']));
    await vi.advanceTimersByTimeAsync(1001);
    expect(await last).toEqual(['slow', 1000]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('rejects pending and later commands once closed, leaving a given client open', async () => {
    const { connection, client } = await connected();
    const another = connection.forSubscriber();
    const waiting = outcome(connection.command(['A']));
    connection.close();
    expect(await waiting).toEqual(['closed', 1000]);
    expect(await outcome(connection.command(['B']))).toEqual(['closed', 1000]);
    expect([client.isOpen, vi.getTimerCount()]).toEqual([true, 0]);
    await another.open();
    another.close();
    expect(client.duplicates.map(({ isOpen }) => isOpen)).toEqual([false]);
  });

  test.each<[string, unknown, readonly [fault: string, retryAfterMs: number]]>([
    ['out of memory', new ErrorReply('OOM command not allowed'), ['full', 10_000]],
    ['a failing disk', new ErrorReply('MISCONF Errors writing'), ['full', 10_000]],
    ['too few replicas', new ErrorReply('NOREPLICAS Not enough'), ['full', 10_000]],
    ['loading data', new ErrorReply('LOADING Redis is loading'), ['away', 1000]],
    ['a running script', new ErrorReply('BUSY Redis is busy'), ['slow', 1000]],
    ['a replica', new ErrorReply('READONLY You cannot write'), ['away', 1000]],
    ['a lost primary', new ErrorReply('MASTERDOWN Link with MASTER'), ['away', 1000]],
    ['a cluster with a hole', new ErrorReply('CLUSTERDOWN Hash slot not served'), ['away', 1000]],
    ['a moving slot', new ErrorReply('TRYAGAIN Multiple keys'), ['away', 1000]],
    ['no permission', new ErrorReply('NOPERM No permissions'), ['refused', 10_000]],
    ['a lost connection', new Error('Socket closed'), ['away', 1000]],
    ['not an error', 'gone', ['away', 1000]],
  ])('maps an error reply to its fault: %s', async (_, error, fault) => {
    const { connection, last } = await connected();
    const refused = outcome(connection.command(['SET', 'a', 'b']));
    last().fail(error);
    expect(await refused).toEqual(fault);
    const next = connection.command(['PING']);
    last().answer('PONG');
    expect(await next).toBe('PONG');
  });

  test('reports the problem and its cause', async () => {
    const { connection, last } = await connected({ maxCommands: 1 });
    const errorOf = async (command: Promise<unknown>, end: () => void): Promise<unknown> => {
      end();
      return command.catch((error: unknown) => error);
    };
    const cause = new ErrorReply('NOPERM No permissions to access a key');
    const refused = errorOf(connection.command(['GET', 'a']), () => last().fail(cause));
    expect(await refused).toMatchObject({
      message: expect.stringContaining('NOPERM No permissions') as string,
      cause,
    });
    const full = errorOf(connection.command(['SET']), () => last().fail(new ErrorReply('OOM')));
    expect(await full).toMatchObject({
      message: expect.stringContaining('is out of memory') as string,
    });
    const waiting = connection.command(['A']);
    const busyNow = errorOf(connection.command(['B']), () => {});
    expect(await busyNow).toMatchObject({
      message: expect.stringContaining(
        'Too many pending Redis commands: the limit is 1 commands',
      ) as string,
    });
    const late = errorOf(waiting, () => void vi.advanceTimersByTime(1001));
    expect(await late).toMatchObject({
      message: expect.stringContaining('did not answer within 1000 ms') as string,
    });
    const lost = errorOf(connection.command(['A']), () => last().fail(new Error('Socket closed')));
    expect(await lost).toMatchObject({
      message: expect.stringContaining('Not connected to Redis') as string,
      cause: { message: 'Socket closed' },
    });
    const closed = errorOf(connection.command(['A']), () => connection.close());
    expect(await closed).toMatchObject({
      message: expect.stringContaining('is closed') as string,
    });
  });

  test('sends a script by its digest, or in full if Redis lost it', async () => {
    const { connection, client, last } = await connected();
    const script = luaScript('return 1');
    const known = connection.run(script, ['k'], ['v']);
    last().answer(1);
    expect(await known).toBe(1);
    const forgotten = connection.run(script, ['k'], ['v']);
    last().fail(new ErrorReply('NOSCRIPT No matching script'));
    await expect.poll(() => client.sent.length).toBe(3);
    last().answer(2);
    expect(await forgotten).toBe(2);
    const lost = outcome(connection.run(script, ['k'], ['v']));
    last().fail(new Error('Socket closed'));
    // The command may have been executed, so it is not repeated.
    expect(await lost).toEqual(['away', 1000]);
    const rest = ['1', 'k', 'v'];
    expect(client.sent.map(({ args }) => args)).toEqual([
      [['EVALSHA', script.digest, ...rest]],
      [['EVALSHA', script.digest, ...rest]],
      [['EVAL', script.text, ...rest]],
      [['EVALSHA', script.digest, ...rest]],
    ]);
  });

  test.each<[string, object, readonly unknown[]]>([
    [
      'a cluster is told whose node it is for',
      { nodeByAddress: {} },
      ['key', false, ['GET', 'key']],
    ],
    ['a sentinel is told that it writes', { getSentinelNode: {} }, [false, ['GET', 'key']]],
  ])('sends commands as its kind of client expects: %s', async (_, more, args) => {
    const { connection, last } = await connected({}, Object.assign(new HeldClient(), more));
    const asked = connection.command(['GET', 'key'], 'key');
    last().answer('value');
    expect(await asked).toBe('value');
    expect(last().args).toEqual(args);
  });

  test('opens a given client, or reports why it cannot', async () => {
    const closed = Object.assign(new HeldClient(), { isOpen: false });
    await connected({}, closed);
    expect(closed.isOpen).toBe(true);
    const failing = Object.assign(new HeldClient(), {
      isOpen: false,
      connecting: () => Promise.reject(new Error('ECONNREFUSED')),
    });
    await expect(connected({}, failing)).rejects.toMatchObject({
      fault: 'away',
      cause: { message: 'ECONNREFUSED' },
    });
    await connected({}, Object.assign(failing, { isOpen: true }));
    const silent = Object.assign(new HeldClient(), {
      isOpen: false,
      connecting: () => new Promise(() => {}),
    });
    const opening = outcome(connected({}, silent));
    await vi.advanceTimersByTimeAsync(4999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await opening).toEqual(['slow', 1000]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
