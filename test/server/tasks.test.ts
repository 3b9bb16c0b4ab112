/** Tasks as the extension of 2026-07-28: the server decides, the client looks, and answers through updates. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../src/index.ts';
import type { McpServer } from '../../src/index.ts';
import type {
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../src/machines/peer-ports.ts';
import { plainActor } from '../../src/machines/port.ts';
import type { Port, Recipient } from '../../src/machines/port.ts';
import type { JsonObject, OutboundFrame } from '../../src/protocol/frames.ts';
import type { RequestOrigin } from '../../src/protocol/request-origin.ts';
import { TestClock, gate, flush } from '../../packages/testing/src/index.ts';
import { clientId } from '../actors/ids.ts';
import { modern } from './modern-peer.ts';

const extension = 'io.modelcontextprotocol/tasks';
const takesTasks = { extensions: { [extension]: {} }, elicitation: { form: {} }, roots: {} };
const without = { requiredCapabilities: { extensions: { [extension]: {} } } };
const name = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
} as const;
const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content });

/** A server with tools that run as tasks, and its client. */
function working(options: Parameters<typeof modern>[1] = {}) {
  const work = gate();
  const ended: string[] = [];
  const tools = [
    defineTool({
      name: 'job',
      description: 'Works until it may end.',
      taskSupport: 'optional',
      handler: async (_, context) => {
        try {
          context.progress(1, { total: 2 });
          await work.pass(context.signal);
          return 'done';
        } finally {
          ended.push('job');
        }
      },
    }),
    defineTool({
      name: 'asks',
      description: 'Asks while it works.',
      taskSupport: 'required',
      handler: async (_, context) => {
        try {
          const [answer, roots] = await Promise.all([
            context.elicit({ message: 'Who?', schema: name }),
            context.roots(),
          ]);
          const who = answer.action === 'accept' ? answer.content.name : answer.action;
          return `${who}, ${roots.roots.length}`;
        } finally {
          ended.push('asks');
        }
      },
    }),
    defineTool({
      name: 'fails',
      description: 'Fails as a tool does.',
      taskSupport: 'optional',
      handler: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
    }),
  ];
  const client = modern({ tools }, options);
  const ask = (method: string, params: JsonObject, capabilities: JsonObject = takesTasks) =>
    client.ask(method, params, capabilities);
  const begin = async (tool: string) => {
    const task = await ask('tools/call', { name: tool });
    return { task, taskId: task['taskId'] as string };
  };
  /** Looks at the task until it has this status. */
  const until = async (taskId: string, status: string) => {
    for (;;) {
      const task = await ask('tasks/get', { taskId });
      if (task['status'] === status) return task;
      await flush();
    }
  };
  return { ...client, ask, begin, until, work, ended };
}

describe('a tool call as a task', () => {
  test('is answered immediately, and the task contains its result', async () => {
    const { begin, until, work, ask, peer } = working();
    const { task, taskId } = await begin('job');
    expect(task).toEqual({
      resultType: 'task',
      taskId: expect.any(String),
      status: 'working',
      createdAt: expect.any(String),
      lastUpdatedAt: expect.any(String),
      ttlMs: 3_600_000,
      pollIntervalMs: 1000,
      _meta: expect.any(Object),
    });
    expect(await ask('tasks/get', { taskId })).toMatchObject({
      resultType: 'complete',
      status: 'working',
    });
    work.release();
    expect(await until(taskId, 'completed')).toMatchObject({
      resultType: 'complete',
      result: { content: [{ type: 'text', text: 'done' }] },
    });
    // Nothing is sent on behalf of its work.
    expect(peer.count('notifications/progress')).toBe(0);
  });

  test('is an ordinary call for a client without tasks, or rejected if a task is required [ERA-05] [ENV-08]', async () => {
    const { ask, work } = working();
    work.release();
    const result = await ask('tools/call', { name: 'job' }, {});
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'done' }] });
    const refused = await ask('tools/call', { name: 'asks' }, {});
    expect(refused).toMatchObject({ code: -32021, data: without });
  });

  test('completes if its result has isError', async () => {
    const { begin, until } = working();
    const { taskId } = await begin('fails');
    expect(await until(taskId, 'completed')).toMatchObject({ result: { isError: true } });
  });

  test('is declared as an extension [ERA-05]', async () => {
    const { ask } = working();
    const { capabilities } = await ask('server/discover', {});
    expect(capabilities).toMatchObject({ extensions: { [extension]: {} } });
    expect(capabilities).not.toHaveProperty('tasks');
  });
});

describe('a task that needs input', () => {
  const answers = { q1: accept({ name: 'Ada' }), q2: { roots: [{ uri: 'file:///a' }] } };

  test('exposes its questions and resumes with the answers of tasks/update', async () => {
    const { begin, until, ask, peer } = working();
    const { taskId } = await begin('asks');
    const waiting = await until(taskId, 'input_required');
    expect(waiting['inputRequests']).toMatchObject({
      q1: { method: 'elicitation/create', params: { message: 'Who?' } },
      q2: { method: 'roots/list' },
    });
    const update = await ask('tasks/update', { taskId, inputResponses: answers });
    expect(update).toMatchObject({ resultType: 'complete' });
    expect(await until(taskId, 'completed')).toMatchObject({
      result: { content: [{ text: 'Ada, 1' }] },
    });
    expect(peer.count('elicitation/create') + peer.count('roots/list')).toBe(0);
  });

  test('accepts answers individually, ignores unknown ones and rejects malformed ones by name', async () => {
    const { begin, until, ask } = working();
    const { taskId } = await begin('asks');
    await until(taskId, 'input_required');
    const wrong = { taskId, inputResponses: { q1: accept({ name: 7 }), q2: answers.q2 } };
    const refused = await ask('tasks/update', wrong);
    expect(refused).toMatchObject({ code: -32602 });
    expect(refused['message']).toContain('"inputResponses.q1"');
    await ask('tasks/update', { taskId, inputResponses: { q2: answers.q2, other: 7 } });
    const { inputRequests } = await until(taskId, 'input_required');
    expect(Object.keys(inputRequests as object)).toEqual(['q1']);
    await ask('tasks/update', { taskId, inputResponses: { q1: answers.q1, q2: answers.q2 } });
    await until(taskId, 'completed');
  });

  test('aborts its handler when cancelled, and acknowledges a repeated cancellation', async () => {
    const { begin, until, ask, ended } = working();
    const { taskId } = await begin('asks');
    await until(taskId, 'input_required');
    for (let times = 0; times < 2; times++) {
      expect(await ask('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' });
    }
    await until(taskId, 'cancelled');
    await flush();
    expect(ended).toEqual(['asks']);
  });
});

describe('a task request', () => {
  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s requires task support and a known task',
    async (method) => {
      const { ask, begin } = working();
      const { taskId } = await begin('job');
      const refused = await ask(method, { taskId }, {});
      expect(refused).toMatchObject({ code: -32021, data: without });
      expect(await ask(method, { taskId: 'other' })).toMatchObject({ code: -32602 });
    },
  );

  test.each(['tasks/list', 'tasks/result'])('finds no %s of others', async (method) => {
    const { ask, begin } = working();
    const { taskId } = await begin('job');
    expect(await ask(method, { taskId })).toMatchObject({ code: -32601 });
  });
});

describe('a subscription to tasks', () => {
  test('receives each status with the details of the task', async () => {
    const { begin, send, peer, work } = working();
    const { taskId } = await begin('job');
    const notifications = { taskIds: [taskId, 'other'] };
    const id = send('subscriptions/listen', { notifications }, takesTasks);
    const first = await peer.notification('notifications/subscriptions/acknowledged');
    expect(first.params?.['notifications']).toEqual({ taskIds: [taskId] });
    work.release();
    const told = await peer.notification('notifications/tasks');
    expect(told.params).toMatchObject({
      _meta: { 'io.modelcontextprotocol/subscriptionId': id },
      taskId,
      status: 'completed',
      result: { content: [{ text: 'done' }] },
    });
  });

  test('is rejected for a client without task support', async () => {
    const { ask } = working();
    const notifications = { taskIds: ['a'] };
    const refused = await ask('subscriptions/listen', { notifications }, {});
    expect(refused).toMatchObject({ code: -32021, data: without });
  });
});

test('cancels the handler of a task when its TTL expires', async () => {
  const clock = new TestClock();
  const { begin, ask, ended } = working({ clock, limits: { taskTtlMs: 2000 } });
  const { taskId } = await begin('asks');
  clock.increment(2000);
  await flush();
  expect(ended).toEqual(['asks']);
  expect(await ask('tasks/get', { taskId })).toMatchObject({ code: -32602 });
});

describe('a task whose client never answers', () => {
  test('ends when its TTL expires despite its open question', async () => {
    const clock = new TestClock();
    const { begin, until, ask, ended, session } = working({ clock, limits: { taskTtlMs: 2000 } });
    const { taskId } = await begin('asks');
    await until(taskId, 'input_required');
    expect(session.dump().calls).toMatchObject([{ taskId, openQuestions: 2 }]);
    clock.increment(2000);
    await flush();
    expect(ended).toEqual(['asks']);
    expect(session.dump()).toMatchObject({ calls: [], tasks: [] });
    expect(await ask('tasks/get', { taskId })).toMatchObject({ code: -32602 });
  });

  test('ends with its connection after its handler has cleaned up', async () => {
    const clock = new TestClock();
    const { begin, until, ended, session, wire } = working({ clock });
    const { taskId } = await begin('asks');
    await until(taskId, 'input_required');
    wire.end();
    // No time passes: nobody is there who could answer.
    await session.closed;
    expect(ended).toEqual(['asks']);
    expect(clock.liveTimers).toBe(0);
  });

  test('does not occupy a running slot', async () => {
    const { begin, until, ask, ended } = working({ limits: { maxRunning: 1 } });
    const { taskId } = await begin('asks');
    await until(taskId, 'input_required');
    expect(await ask('tools/call', { name: 'fails' }, {})).toMatchObject({
      content: [{ text: 'no' }],
    });
    expect(ended).toEqual([]);
  });
});

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};

/** A session that answers each request by itself, as HTTP does: by its method, its params and its principal. */
function requestsTo(server: McpServer) {
  let router: Recipient<RouterEvent> | undefined;
  const waiting = new Map<RequestOrigin, (frame: OutboundFrame) => void>();
  const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
    router = input.router;
    return { receive: () => {} };
  });
  const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { owner } }) => ({
    receive: (event) => {
      if (event.type === 'output.flush') owner.send({ type: 'output.flushed' });
      if (event.type !== 'frames.send' || !event.relatedTo?.origin) return;
      for (const frame of event.frames) waiting.get(event.relatedTo.origin)?.(frame);
    },
  }));
  const session = server.listen(() => ({ reader, writer }));
  onTestFinished(() => session.closed.then(() => {}));
  onTestFinished(() => session.shutdown('the test is over'));
  return (as: string | undefined, method: string, params: JsonObject) => {
    const principal =
      as === undefined ? undefined : { id: as, subject: as, scopes: [], claims: {} };
    const origin: RequestOrigin = { idScope: 'request', principal };
    const said = new Promise<OutboundFrame>((resolve) => waiting.set(origin, resolve));
    const request = { kind: 'request', id: clientId(1), method, origin } as const;
    const frame = { ...request, params: { ...params, _meta: envelope } };
    router?.send({ type: 'frames.received', frames: [frame] });
    return said;
  };
}

test('restricts a task and its notifications to its principal', async () => {
  const work = gate();
  const job = defineTool({
    name: 'job',
    description: 'Works',
    taskSupport: 'required',
    handler: async (_, { signal }) => {
      await work.pass(signal);
      return 'done';
    },
  });
  const request = requestsTo(createMcpServer({ name: 's', version: '1', tools: [job] }));
  const created = await request('ada', 'tools/call', { name: 'job' });
  const { taskId } = (created as { readonly result: { readonly taskId: string } }).result;
  await work.arrived();

  for (const other of ['eve', undefined]) {
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const given = await request(other, method, { taskId, inputResponses: {} });
      expect(given).toHaveProperty('error.code', -32602);
      expect(given).toHaveProperty('error.message', expect.stringContaining('Task not found'));
    }
  }
  expect(await request('ada', 'tasks/get', { taskId })).toHaveProperty('result.status', 'working');

  const notifications = { taskIds: [taskId] };
  const heard = async (as: string) =>
    JSON.stringify(await request(as, 'subscriptions/listen', { notifications }));
  expect(await heard('ada')).toContain(taskId);
  expect(await heard('eve')).not.toContain(taskId);
  work.release();
});
