/** Tools that run as tasks, before servers of ours in both eras and of the official SDK. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ToolTask } from 'mcp-actors/client';
import type { ToolTaskStatus } from '../src/connection/tool-task.observable.ts';
import { TestClock, gate, flush } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { program } from '../../../test/tooling/programs.ts';
import { officialTasks } from './official-tasks.ts';
import { scriptedConnection } from './scripted-transport.ts';
import type { Script, ScriptedTransport } from './scripted-transport.ts';

const limits = { taskPollIntervalMs: 1 };
const quiet = { report: () => {} };

/** Tools, and what becomes of those that wait. */
function tools() {
  const door = gate();
  const ended: unknown[] = [];
  const waiting = gate();
  const all: readonly Tool[] = [
    defineTool({
      name: 'count',
      description: 'Tells how far it is',
      taskSupport: 'required',
      handler: async (_args, { progress, task, signal }) => {
        await door.pass(signal);
        progress(1, { total: 2 });
        task?.describe('half of it');
        await waiting.pass(signal);
        return { structured: { count: 2 } };
      },
    }),
    defineTool({
      name: 'ask',
      description: 'Asks who it is',
      taskSupport: 'required',
      handler: async (_args, { elicit }) => {
        const schema = {
          type: 'object',
          properties: { name: { type: 'string' } },
          required: ['name'],
        } as const;
        const first = await elicit({ message: 'Who?', schema });
        const second = await elicit({ message: 'Who else?', schema });
        return JSON.stringify(
          [first, second].map((each) => (each as { content?: object }).content),
        );
      },
    }),
    defineTool({
      name: 'hold',
      description: 'Does not end',
      taskSupport: 'required',
      handler: (_args, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            ended.push(signal.reason);
            reject(signal.reason as Error);
          });
        }),
    }),
    defineTool({
      name: 'fail',
      description: 'Fails',
      taskSupport: 'required',
      handler: () => {
        throw new Error('a bug');
      },
    }),
    defineTool({ name: 'plain', description: 'Is an ordinary tool', handler: () => 'plain' }),
  ];
  return { all, door, waiting, ended };
}

type Way = 'in memory' | 'over HTTP';

/** An entry for a server of ours with these tools. */
async function entryOf(way: Way, own: readonly Tool[]) {
  const server = createMcpServer({ name: 'ours', version: '1', tools: own });
  if (way === 'over HTTP') return { url: (await serveHttp(server, { session: { limits } })).href };
  const transport = () => {
    const { transport: ours, peer } = memory();
    server.listen(ours, { ...quiet, limits });
    return toSdkTransport(peer);
  };
  return { transport };
}

function closing(connection: Connection): Connection {
  onTestFinished(() => connection.close());
  return connection;
}

const textOf = ({ content: [block] }: { readonly content: readonly object[] }): string =>
  String((block as { readonly text?: string }).text);

/** All that a task says of itself, until it ends. */
const statusesOf = ({ status$ }: ToolTask) => {
  const seen: ToolTaskStatus[] = [];
  return new Promise<readonly ToolTaskStatus[]>((resolve) => {
    status$.subscribe({ next: (status) => seen.push(status), complete: () => resolve(seen) });
  });
};

const ways = (['in memory', 'over HTTP'] as const).flatMap((way) =>
  (['legacy', 'modern'] as const).map((era) => ({ way, era })),
);

describe.each(ways)('a tool that runs as a task, $era $way', ({ way, era }) => {
  async function before(options: ConnectOptions = {}) {
    const made = tools();
    const entry = await entryOf(way, made.all);
    const connection = closing(await connect(entry, { era, ...quiet, ...options }));
    return { ...made, connection };
  }

  test('gives its result to whoever calls it, and tells how far it is [FOLLOW-05]', async () => {
    const { connection, door, waiting } = await before();
    let task: ToolTask | undefined;
    const half = gate();
    const progress: number[] = [];
    const called = connection.callTool(
      'count',
      {},
      {
        onProgress: ({ progress: now }) => progress.push(now),
        onTask: (begun) => {
          task = begun;
          begun.status$.subscribe(({ message }) => message === 'half of it' && half.release());
          door.release();
        },
      },
    );
    await half.pass();
    expect(task?.status).toEqual({ status: 'working', message: 'half of it' });
    // Since 2026-07-28 a task has no progress.
    expect(progress).toEqual(era === 'legacy' ? [1] : []);
    expect(connection.dump().actors.map(({ id }) => id)).toContain(task?.id);
    waiting.release();
    expect(await called).toMatchObject({ structuredContent: { count: 2 } });
    expect(task?.status.status).toBe('completed');
    expect(connection.dump().actors.map(({ id }) => id)).not.toContain(task?.id);
  });

  test('is held by its handle, whoever waits for it', async () => {
    const { connection, door, waiting } = await before();
    const task = await connection.callToolAsTask('count');
    expect([task.id, task.status]).toEqual([expect.any(String), { status: 'working' }]);
    const statuses = statusesOf(task);
    const controller = new AbortController();
    const given = task.result({ signal: controller.signal });
    controller.abort('not so important');
    await expect(given).rejects.toMatchObject({ code: 'CANCELLED', cause: 'not so important' });
    door.release();
    waiting.release();
    expect(await task.result()).toMatchObject({ structuredContent: { count: 2 } });
    expect((await statuses).at(-1)?.status).toBe('completed');
    expect(await task.result()).toMatchObject({ structuredContent: { count: 2 } });
    await task.cancel();
    expect(task.status.status).toBe('completed');
  });

  test('asks the host, again and again', async () => {
    const names = ['Ada', 'Grace'];
    const asked: string[] = [];
    const { connection } = await before({
      elicit: ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { name: names[asked.length - 1] ?? '' } };
      },
    });
    const result = await connection.callTool('ask');
    expect(JSON.parse(textOf(result))).toEqual([{ name: 'Ada' }, { name: 'Grace' }]);
    expect(asked).toEqual(['Who?', 'Who else?']);
  });

  test('is cancelled at the server by the signal of its call', async () => {
    const { connection, ended } = await before();
    const controller = new AbortController();
    const called = connection.callTool(
      'hold',
      {},
      {
        signal: controller.signal,
        onTask: () => controller.abort('enough'),
      },
    );
    await expect(called).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    await expect.poll(() => ended.length).toBe(1);
  });

  test('is cancelled by its handle', async () => {
    const { connection, ended } = await before();
    const task = await connection.callToolAsTask('hold');
    const result = task.result();
    const cancelled = task.cancel();
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    await cancelled;
    expect(task.status.status).toBe('cancelled');
    await expect.poll(() => ended.length).toBe(1);
  });

  test('is cancelled if it takes too long', async () => {
    const clock = new TestClock();
    const { connection, ended } = await before({ clock });
    const onTask = () => clock.increment(300);
    const called = connection.callTool('hold', {}, { maxTotalMs: 300, onTask });
    await expect(called).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    await expect.poll(() => ended.length).toBe(1);
  });

  test('fails as an ordinary one does', async () => {
    const { connection } = await before();
    const failing = connection.callTool('fail');
    await expect(failing.then(({ isError }) => isError)).resolves.toBe(true);
  });

  test('ends for its host with the connection', async () => {
    const { connection } = await before();
    const task = await connection.callToolAsTask('hold');
    const result = task.result();
    await Promise.all([
      expect(result).rejects.toMatchObject({ code: expect.stringMatching(/CLOSED|NOT_READY/) }),
      connection.close(),
    ]);
  });

  test('leaves ordinary tools as they are [FOLLOW-01]', async () => {
    const { connection } = await before();
    expect(textOf(await connection.callTool('plain'))).toBe('plain');
    const refused = connection.callToolAsTask('plain');
    if (era === 'legacy')
      await expect(refused).rejects.toMatchObject({
        code: 'CAPABILITY_MISSING',
        message: expect.stringMatching(
          /not called: .* does not support tasks for "plain"$/,
        ) as string,
      });
    else expect(await (await refused).result()).toMatchObject({ content: [{ text: 'plain' }] });
  });
});

test('a question of a task that the host cannot answer cancels it, and says why [modern]', async () => {
  const { all } = tools();
  const entry = await entryOf('in memory', all);
  const connection = closing(
    await connect(entry, {
      era: 'modern',
      ...quiet,
      elicit: () => {
        throw new Error('no screen');
      },
    }),
  );
  await expect(connection.callTool('ask')).rejects.toMatchObject({ code: 'REQUEST_FAILED' });
});

test('a host holds a call by its handle', async () => {
  const { all, door, waiting } = tools();
  door.release();
  waiting.release();
  const connection = closing(await connect(await entryOf('in memory', all), quiet));
  const shown: string[] = [];
  const show = (text: string) => shown.push(text);
  // #region a call as a task
  const task = await connection.callToolAsTask('count');
  task.status$.subscribe(({ status, message = '' }) => show(`${task.id}: ${status} ${message}`));
  const { structuredContent } = await task.result();
  // #endregion
  expect(structuredContent).toEqual({ count: 2 });
  expect(shown[0]).toMatch(/: working/);
});

test('a server that runs nothing as a task is not asked for one [FOLLOW-01]', async () => {
  const plain = defineTool({ name: 'plain', description: 'plain', handler: () => 'plain' });
  for (const era of ['legacy', 'modern'] as const) {
    const connection = closing(
      await connect(await entryOf('in memory', [plain]), { era, ...quiet }),
    );
    await expect(connection.callToolAsTask('plain')).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
    });
    expect(textOf(await connection.callTool('plain'))).toBe('plain');
  }
});

/** A server of the official SDK over HTTP, with sessions. */
async function officialOverHttp(): Promise<string> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const made = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id: string) => void transports.set(id, transport),
    });
    await officialTasks().connect(transport as never);
    return transport;
  };
  const http = createServer((request, response) => {
    const known = transports.get(String(request.headers['mcp-session-id']));
    void (known ? Promise.resolve(known) : made()).then((transport) =>
      transport.handleRequest(request, response),
    );
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

const launched = {
  command: process.execPath,
  args: program('packages/client/test/official-tasks.ts'),
};

describe.each(['as a process', 'over HTTP'])('before the official SDK, %s', (way) => {
  const entry = async () => (way === 'over HTTP' ? { url: await officialOverHttp() } : launched);
  const elicit = () => ({ action: 'accept', content: { name: 'Ada' } }) as const;

  test('a tool that has to run as a task gives its result, asks its host and is cancelled [FOLLOW-01]', async () => {
    const connection = closing(await connect(await entry(), { elicit, ...quiet }));
    expect(textOf(await connection.callTool('quick'))).toBe('quick is done');
    expect(textOf(await connection.callTool('asking'))).toBe('It is Ada');
    const task = await connection.callToolAsTask('endless');
    const result = task.result();
    const cancelled = task.cancel();
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    await cancelled;
    const looked = await connection.request('tasks/get', { taskId: task.id });
    expect(looked).toMatchObject({ status: 'cancelled' });
  });

  test('it is called as a task even before it is known that it has to be [FOLLOW-01]', async () => {
    const connection = closing(openConnection(await entry(), quiet));
    expect(textOf(await connection.callTool('quick'))).toBe('quick is done');
  });
});

describe('before a server of 2025-11-25 that follows a script', () => {
  const offered = { requests: { tools: { call: {} } } };
  const toolsOf = (...required: readonly string[]) => ({
    tools: ['long', 'short'].map((name) => ({
      ...{ name, inputSchema: { type: 'object' } },
      execution: { taskSupport: required.includes(name) ? 'required' : 'forbidden' },
    })),
  });
  const result = { content: [{ type: 'text', text: 'done' }] };
  const [isError, working] = [true, { taskId: 't', status: 'working' }];

  /** A server with a tool that runs as a task only, which does first what is given. */
  function before(first: Script = () => undefined, options: ConnectOptions = {}) {
    const script: Script = (message, to) => {
      const { method, params } = message;
      const serverInfo = { name: 'scripted', version: '1' };
      const capabilities = { tools: { listChanged: true }, tasks: offered };
      const answers: { readonly [asked: string]: object } = {
        initialize: { protocolVersion: params?.['protocolVersion'], capabilities, serverInfo },
        'tools/list': toolsOf('long'),
        'tools/call': params?.['task'] ? { task: working } : result,
        'tasks/get': { ...working, status: 'completed' },
        'tasks/result': result,
        'tasks/cancel': {},
      };
      return first(message, to) ?? answers[method ?? ''];
    };
    const { connection, clock, servers } = scriptedConnection(script, options);
    const server = () => servers[0] as ScriptedTransport;
    const sent = (method: string) =>
      server().sent.flatMap((each) => (each.method === method ? [each.params] : []));
    return { connection, clock, server, sent };
  }

  const refusing =
    (refusal: object): Script =>
    ({ id, method, params }, server) => {
      if (method !== 'tools/call' || params?.['task']) return undefined;
      queueMicrotask(() => server.say({ id, ...refusal }));
      return 'never';
    };
  const errorOf = (code: number) => ({ error: { code, message: 'No' } });

  test.each<[what: string, tool: string, refusal: object, calls: number, outcome: unknown]>([
    ['an unknown method', 'long', errorOf(-32601), 2, result],
    ['a failed result', 'long', { result: { isError, content: [] } }, 2, result],
    ['another error', 'long', errorOf(-32000), 1, -32000],
    ['an unknown method of another tool', 'short', errorOf(-32601), 1, -32601],
    ['a failed result of another tool', 'short', { result: { isError, content: [] } }, 1, true],
  ])(
    'a call that it refuses before it is known: %s (%s)',
    async (_what, tool, refusal, calls, outcome) => {
      const { connection, clock, sent } = before(refusing(refusal));
      const called = connection.callTool(tool).then(
        (given) => (given.isError === true ? true : given),
        ({ code }: { readonly code: number }) => code,
      );
      await expect.poll(() => sent('tools/call').length).toBe(calls);
      await flush();
      clock.increment(1000);
      expect(await called).toEqual(outcome);
      expect(sent('tools/call')).toHaveLength(calls);
    },
  );

  test('is told how long to keep a task, and may answer at once', async () => {
    const { connection, sent } = before(({ method }) =>
      method === 'tools/call' ? result : undefined,
    );
    const task = await connection.callToolAsTask('long', { at: 1 }, { ttlMs: 5000 });
    expect([task.id, task.status]).toEqual([undefined, { status: 'completed' }]);
    expect(await task.result()).toEqual(result);
    await connection.callToolAsTask('long');
    expect(sent('tools/call')).toMatchObject([
      { name: 'long', arguments: { at: 1 }, task: { ttl: 5000 } },
      { name: 'long', task: {} },
    ]);
  });

  test('is called as usual if it does not list its tools', async () => {
    const { connection, sent } = before(({ id, method }, server) => {
      if (method !== 'tools/list') return undefined;
      queueMicrotask(() => server.say({ id, ...errorOf(-32603) }));
      return 'never';
    });
    await connection.ready();
    expect(await connection.callTool('long')).toEqual(result);
    expect(sent('tools/call')).toHaveLength(1);
  });

  test('is not called if that is given up before it has listed its tools', async () => {
    const { connection, sent } = before(({ method }) =>
      method === 'tools/list' ? 'never' : undefined,
    );
    await connection.ready();
    const controller = new AbortController();
    const given = connection.callTool('long', {}, { signal: controller.signal });
    controller.abort('enough');
    await expect(given).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    expect(sent('tools/call')).toEqual([]);
  });

  test('says which tools have become tasks, and when a task has ended', async () => {
    const required = ['long'];
    const { connection, server, sent } = before(({ method }) =>
      method === 'tools/list' ? toolsOf(...required) : undefined,
    );
    await connection.ready();
    await connection.callTool('short');
    required.push('short');
    server().say({ method: 'notifications/tools/list_changed' });
    await flush();
    const called = connection.callTool('short');
    await expect.poll(() => sent('tools/call')).toMatchObject([{}, { task: {} }]);
    await flush();
    const params = { ...working, status: 'completed' };
    server().say({ method: 'notifications/tasks/status', params });
    // Nobody has looked: no time has passed.
    expect(await called).toEqual(result);
    expect(sent('tasks/get')).toEqual([]);
  });

  test('is not waited for with a task that nobody wants', async () => {
    const restart = { initialMs: 1000, jitter: 0 };
    const { connection, server } = before(undefined, { restart });
    const task = await connection.callToolAsTask('long');
    const ended = expect(task.result()).rejects.toMatchObject({ code: 'CANCELLED' });
    server().onclose?.();
    await expect.poll(() => connection.state.value).toBe('backoff');
    await task.cancel();
    await ended;
    expect(task.status.status).toBe('cancelled');
  });

  test('has the results of its tasks read as all results are', async () => {
    const { connection, clock } = before(({ method }) =>
      method === 'tasks/result' ? {} : undefined,
    );
    const task = await connection.callToolAsTask('long');
    clock.increment(1000);
    expect(await task.result()).toEqual({ content: [] });
  });

  test('ends its tasks with the connection, at once', async () => {
    const { connection } = before();
    const task = await connection.callToolAsTask('long');
    const ended = expect(task.result()).rejects.toMatchObject({ code: 'CLOSED' });
    await connection.close();
    await ended;
    expect(task.status.status).toBe('failed');
  });

  test('ends a task whose progress its host fails to take', async () => {
    const { connection, server, sent } = before();
    const onProgress = () => {
      throw new Error('a bug');
    };
    const task = await connection.callToolAsTask('long', {}, { onProgress });
    const failed = expect(task.result()).rejects.toThrow(/^a bug$/);
    const { id: progressToken } = server().sent.find(({ method }) => method === 'tools/call') ?? {};
    server().say({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    await failed;
    await expect.poll(() => sent('tasks/cancel')).toMatchObject([{ taskId: 't' }]);
  });
});

describe('a server', () => {
  const discovered = (capabilities: object) => ({
    ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
    ...{ supportedVersions: ['2026-07-28'], capabilities: { tools: {}, ...capabilities } },
  });
  const extensions = { 'io.modelcontextprotocol/tasks': {} };

  test.each<[era: 'legacy' | 'modern', capabilities: object]>([
    ['legacy', { extensions }],
    ['legacy', { tasks: true }],
    ['legacy', { tasks: {} }],
    ['legacy', { tasks: { requests: {} } }],
    ['legacy', { tasks: { requests: { tools: {} } } }],
    ['modern', { tasks: { requests: { tools: { call: {} } } } }],
    ['modern', { extensions: {} }],
  ])('of the %s era that declares %j is asked for no task', async (era, capabilities) => {
    const { connection, servers } = scriptedConnection(
      ({ method, params }) => {
        if (method === 'server/discover') return discovered(capabilities);
        if (method !== 'initialize') return undefined;
        const serverInfo = { name: 'scripted', version: '1' };
        const declared = { tools: {}, ...capabilities };
        return { protocolVersion: params?.['protocolVersion'], capabilities: declared, serverInfo };
      },
      { era },
    );
    await expect(connection.callToolAsTask('any')).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
    });
    expect(servers[0]?.methods()).not.toContain('tools/call');
  });

  test('whose task is held goes on with it, whatever the call had been given', async () => {
    const { connection, clock, servers } = scriptedConnection(
      ({ method }) => {
        if (method === 'server/discover') return discovered({ extensions });
        if (method !== 'tools/call' && method !== 'tasks/get') return 'never';
        const resultType = method === 'tools/call' ? 'task' : 'complete';
        return { resultType, taskId: 't', status: 'working' };
      },
      { era: 'modern' },
    );
    const controller = new AbortController();
    const options = { maxTotalMs: 1000, signal: controller.signal };
    const task = await connection.callToolAsTask('any', {}, options);
    controller.abort();
    clock.increment(1000);
    await flush();
    expect(task.status).toEqual({ status: 'working' });
    expect(servers[0]?.methods()).not.toContain('tasks/cancel');
  });

  test('whose task asks more often than it may has it cancelled', async () => {
    let asked = 0;
    const asking = () =>
      asked < 20 && {
        ...{ resultType: 'task', taskId: 't', status: 'input_required' },
        inputRequests: { [`q${++asked}`]: { method: 'roots/list' } },
      };
    const { connection, servers } = scriptedConnection(
      ({ method }) => {
        if (method === 'server/discover') return discovered({ extensions });
        if (method === 'tools/call') return asking() || 'never';
        if (method === 'tasks/get') return { ...asking(), resultType: 'complete' };
        return method?.startsWith('tasks/') ? { resultType: 'complete' } : 'never';
      },
      { era: 'modern', roots: [], limits: { maxRounds: 2 } },
    );
    await expect(connection.callTool('any')).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
      message: 'The task t requested input more than 2 times',
    });
    await expect.poll(() => servers[0]?.methods()).toContain('tasks/cancel');
    expect(asked).toBe(3);
  });
});
