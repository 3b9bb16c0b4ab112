/** What a server does wrong: a problem that is told and counted, never a crash, and never the end of a good neighbour. */
import { fileURLToPath } from 'node:url';
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ConnectionEvent } from 'mcp-actors/client';
import { TestClock } from 'mcp-actors/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

const server = fileURLToPath(new URL('raw-lines-server.mjs', import.meta.url));

type Problem = ConnectionEvent & { readonly type: 'problem' };

/** A connection, and the problems that it has told. */
async function connected(options: ConnectOptions = {}, ...args: readonly string[]) {
  const entry = { command: process.execPath, args: [server, ...args] };
  const connection = await connect(entry, { era: 'legacy', report: () => {}, ...options });
  const problems: Problem[] = [];
  connection.events$.subscribe((event) => {
    if (event.type === 'problem') problems.push(event);
  });
  return { connection, problems };
}

const good = { content: [{ type: 'text', text: 'answered' }] };
const rpc = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message });
const progress = (params: object) => rpc({ method: 'notifications/progress', params });
const answer = (members: string) => `{"jsonrpc":"2.0","id":$ID,${members}}`;

describe('between good messages', () => {
  let connection: Connection;
  let problems: Problem[];
  beforeAll(async () => {
    ({ connection, problems } = await connected());
  });
  afterAll(() => connection.close());

  const say = (lines: readonly string[], more: object = {}) =>
    connection.callTool('any', { lines: lines.map((line) => `${line}\n`), ...more });
  /** What is told of this, by name and count. */
  const toldOf = async (work: () => Promise<unknown>) => {
    const before = problems.length;
    await work();
    return problems.slice(before).map(({ name, count, message }) => ({ name, count, message }));
  };

  test.each<[what: string, line: string, name: string]>([
    ['a line that is no JSON', 'Listening on port 3000', 'frame.invalid'],
    ['JSON that is no object', '42', 'frame.invalid'],
    ['null', 'null', 'frame.invalid'],
    ['an object that is no message', '{"hello":"world"}', 'frame.invalid'],
    ['an empty batch', '[]', 'frame.invalid'],
    ['a batch, which its revision does not know', `[${rpc({ method: 'x' })}]`, 'frame.invalid'],
    ['a message without content', rpc({ id: 99_999 }), 'frame.invalid'],
    ['control characters', '\u0000\u0001', 'frame.invalid'],
    ['a response to nobody', rpc({ id: 99_999, result: {} }), 'response.unknown'],
    ['an error to nobody', rpc({ error: { code: -32700, message: 'What?' } }), 'response.unknown'],
    ['a response to an id that is no number', rpc({ id: '01', result: {} }), 'response.unknown'],
    ['progress for nobody', progress({ progressToken: 'x', progress: 1 }), 'progress.unknown'],
    ['progress without a token', progress({ progress: 1 }), 'progress.unknown'],
    [
      'progress that is no number',
      progress({ progressToken: 1, progress: '1' }),
      'progress.unknown',
    ],
  ])('%s is told and counted each time, and costs nothing', async (_, line, name) => {
    const told = await toldOf(() => expect(say([line, line])).resolves.toEqual(good));
    expect(told).toMatchObject([{ name }, { name }]);
    const [first, second] = told.map(({ count }) => count);
    expect(second).toBe((first ?? 0) + 1);
  });

  test.each([
    ['what no host knows', rpc({ method: 'notifications/unheard-of' })],
    [
      'a cancellation of nothing',
      rpc({ method: 'notifications/cancelled', params: { requestId: 5 } }),
    ],
    ['parameters that are none', '{"jsonrpc":"2.0","method":"notifications/message","params":7}'],
    ['an empty line', ''],
  ])('a notification of %s is no fault', async (_, line) => {
    expect(await toldOf(() => expect(say([line])).resolves.toEqual(good))).toEqual([]);
  });

  test.each([
    ['with a byte order mark', `\uFEFF${answer('"result":{"content":[]}')}`],
    ['that ends with a carriage return', `${answer('"result":{"content":[]}')}\r`],
    ['with members that nobody knows', answer('"result":{"content":[]},"more":[1]')],
  ])('an answer %s is one', async (_, line) => {
    const said = () => expect(say([line], { silent: true })).resolves.toEqual({ content: [] });
    expect(await toldOf(said)).toEqual([]);
  });

  test.each([
    ['whose result is null', answer('"result":null'), '"result" must be an object, got null'],
    ['with a result and an error', answer('"result":{},"error":{"code":1,"message":""}'), 'both'],
    ['whose error has no number', answer('"error":{"message":"no"}'), '"error" must be an object'],
    ['whose error is null', answer('"error":null'), '"error" must be an object'],
    ['without content', '{"jsonrpc":"2.0","id":$ID}', 'got none of them'],
    ['that is no JSON', answer('"result":{"structuredContent":NaN}'), 'Parse error'],
    ['that is no JSON, its id behind', '{"result":{"a":NaN},"id":$ID}', 'Parse error'],
    ['that is not UTF-8', answer('"result":{"a":"\\xFF"}'), 'not valid UTF-8'],
    ['that is not UTF-8, its id behind', '{"result":{"a":"\\xFF"},"id":$ID}', 'not valid UTF-8'],
    [
      'that shares its line with another message',
      `${rpc({ method: 'x' })}${answer('"result":{}')}`,
      'Parse error',
    ],
    [
      'that shares its line with other text',
      `Listening {here}${answer('"result":{}')}`,
      'Parse error',
    ],
    ['with its id as a string', answer('"result":{}').replace('$ID', '"$ID"'), '"id" must be'],
    ['of another version', answer('"result":{}').replace('2.0', '1.0'), '"jsonrpc" must be "2.0"'],
  ])('an answer %s fails its call alone, at once', async (_, line, why) => {
    const neighbour = connection.callTool('any');
    const failed = () =>
      expect(say([line], { silent: true })).rejects.toMatchObject({
        code: 'INVALID_RESPONSE',
        message: expect.stringContaining(why) as string,
      });
    expect(await toldOf(failed)).toMatchObject([{ name: 'response.malformed' }]);
    await expect(neighbour).resolves.toEqual(good);
  });

  test('two answers on one line fail both calls at once', async () => {
    const first = connection.callTool('any', { silent: true });
    const both = `${answer('"result":{}').replace('$ID', '$PREVIOUS')}${answer('"result":{}')}`;
    const calls = await Promise.allSettled([first, say([both], { silent: true })]);
    expect(calls).toMatchObject([
      { status: 'rejected', reason: { code: 'INVALID_RESPONSE' } },
      { status: 'rejected', reason: { code: 'INVALID_RESPONSE' } },
    ]);
  });

  test('an answer in an array fails its call at once in a revision without batches', async () => {
    const failed = () =>
      expect(say([`[${answer('"result":{}')}]`], { silent: true })).rejects.toMatchObject({
        code: 'INVALID_RESPONSE',
      });
    expect(await toldOf(failed)).toMatchObject([
      { name: 'response.malformed' },
      { name: 'frame.invalid' },
    ]);
  });

  test('a second answer to the same call is told, and changes nothing', async () => {
    const twice = [answer('"result":{"content":[]}'), answer('"error":{"code":1,"message":""}')];
    const told = await toldOf(async () => {
      expect(await say(twice, { silent: true })).toEqual({ content: [] });
      await say([]);
    });
    expect(told).toMatchObject([{ name: 'response.duplicate', count: 1 }]);
  });

  test('one bad tool costs that tool, and a cursor that never ends costs the rest of the list', async () => {
    let tools: readonly { readonly name: string }[] = [];
    const told = await toldOf(async () => (tools = await connection.listTools()));
    expect(tools.map(({ name }) => name)).toEqual(
      Array.from({ length: 100 }, (__, page) => `good-${page}`),
    );
    expect(told).toMatchObject([
      { name: 'list.cut', message: expect.stringContaining('100 pages') as string },
      {
        name: 'list.entries',
        message: expect.stringContaining('tools[1]: "inputSchema"') as string,
      },
    ]);
  });

  test('none of it has ended the connection', () => {
    expect(connection.launches).toBe(1);
    expect(connection.state.value).toBe('ready');
  });
});

test('a banner on standard output is told line by line, and the server is greeted', async () => {
  const { connection, problems } = await connected({}, 'Welcome!\n\n\u001b[1mReady\u001b[0m\r\n');
  onTestFinished(() => connection.close());
  expect(problems).toMatchObject([
    { name: 'frame.invalid', count: 1, message: expect.stringContaining('Welcome!') as string },
    { name: 'frame.invalid', count: 2 },
  ]);
  expect(await connection.callTool('any')).toEqual(good);
});

test.each([
  ['exits', '', 'CLOSED'],
  ['does not answer', 'setInterval(() => {}, 1000)', 'CONNECT_TIMEOUT'],
])('quotes the text that a server printed to stdout if it %s', async (_, rest, code) => {
  const print = `console.log('Listening on port 3000');${rest}`;
  const connection = openConnection(
    { command: process.execPath, args: ['-e', print] },
    { era: 'legacy', report: () => {}, restart: 'none', limits: { connectTimeoutMs: 3000 } },
  );
  await expect(connection.ready()).rejects.toMatchObject({
    code,
    message: expect.stringContaining(
      'The server printed text to stdout, which is reserved for messages: "Listening on port 3000"',
    ) as string,
  });
});

test('the error of a server that is not ready in time names the invalid frames that it sent', async () => {
  const clock = new TestClock();
  const mute = `process.stdout.write('Welcome!\\nReady\\n'); setInterval(() => {}, 1000)`;
  const connection = openConnection(
    { command: process.execPath, args: ['-e', mute] },
    { era: 'legacy', report: () => {}, restart: 'none', clock },
  );
  const counts: number[] = [];
  connection.events$.subscribe((event) => {
    if (event.type === 'problem') counts.push(event.count);
  });
  const failed = expect(connection.ready()).rejects.toMatchObject({
    code: 'CONNECT_TIMEOUT',
    message: expect.stringMatching(/Ready.*the last of 2 invalid lines/) as string,
  });
  await expect.poll(() => counts).toEqual([1, 2]);
  clock.increment(30_000);
  // The end of the process is timed by the same clock.
  const state = () => (clock.increment(10), connection.state.value);
  await expect.poll(state).toBe('failed');
  await failed;
});

test('a line over the limit fails the call that it answers; one that answers none costs itself', async () => {
  const { connection, problems } = await connected({ limits: { maxLineBytes: 2000 } });
  onTestFinished(() => connection.close());
  const text = 'x'.repeat(3000);
  const long = `${answer(`"result":{"text":"${text}"}`)}\n`;
  await expect(connection.callTool('any', { lines: [long], silent: true })).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
  });
  expect(await connection.callTool('any', { lines: [`${text}\n`] })).toEqual(good);
  expect(problems.map(({ name }) => name)).toEqual(['response.malformed', 'frame.invalid']);
});

test('a flood of notifications is told to a listener whole, and kept for a later one up to a bound', async () => {
  const { connection } = await connected();
  onTestFinished(() => connection.close());
  const lines = [`${rpc({ method: 'notifications/tick' })}\n`];
  const heard: ConnectionEvent['type'][] = [];
  connection.events$.subscribe(({ type }) => heard.push(type));
  expect(await connection.callTool('any', { lines, repeat: 10_000 })).toEqual(good);
  expect(heard.filter((type) => type === 'notification')).toHaveLength(10_000);

  const entry = { command: process.execPath, args: [server] };
  const unheard = await connect(entry, { era: 'legacy', report: () => {} });
  onTestFinished(() => unheard.close());
  expect(await unheard.callTool('any', { lines, repeat: 10_000 })).toEqual(good);
  const kept: ConnectionEvent[] = [];
  unheard.events$.subscribe((event) => kept.push(event));
  expect(kept).toHaveLength(101);
  expect(kept.at(-1)).toMatchObject({ type: 'problem', name: 'events.dropped' });
});
