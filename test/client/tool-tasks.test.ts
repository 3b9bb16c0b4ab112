/** Tools that run as tasks, before servers of ours in both eras and of the official SDK. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ToolTask, ToolTaskStatus } from 'mcp-actors/client';
import { TestClock, gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toSdkTransport } from '../../src/transports/to-sdk-transport.ts';
import { serveHttp } from '../http/serving.ts';
import { program } from '../tooling/programs.ts';
import { officialTasks } from './official-tasks.ts';

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
        message: expect.stringMatching(/not called: .* does not run "plain" as a task$/) as string,
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

const launched = { command: process.execPath, args: program('test/client/official-tasks.ts') };

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
