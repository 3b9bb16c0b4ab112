import { createMcpServer, defineForm, defineTool } from 'mcp-actors';
import type { McpServer, McpSession } from 'mcp-actors';
import { TestClock, gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { modern, textOf } from '../../../../test/e2e/both-eras-client.ts';
import { ask, callTool } from './modern-client.ts';
import { connectTo, serveHttp } from '../serving.ts';

describe('the official client', () => {
  test.each(['elicitation', 'sampling', 'roots'])(
    'gets answers %s, sequentially and concurrently [HMOD-08]',
    async (kind) => {
      const url = await serveHttp(laboratory);
      const client = await connectTo(url, modern, { elicitation: {}, sampling: {}, roots: {} });
      client.setRequestHandler('elicitation/create', () => ({ action: 'decline' }));
      client.setRequestHandler('sampling/createMessage', () => ({
        role: 'assistant',
        model: 'none',
        content: { type: 'text', text: 'hello' },
      }));
      client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work' }] }));
      for (const concurrent of [false, true]) {
        const args = { kind, count: 3, concurrent };
        const { structuredContent } = await client.callTool({ name: 'ask', arguments: args });
        expect(structuredContent).toMatchObject({ succeeded: 3 });
      }
    },
  );

  test('mirrors tool parameters of any text in headers [HMOD-03]', async () => {
    const client = await connectTo(await serveHttp(laboratory), modern);
    await client.listTools();
    const args = {
      text: ' Grüße,\n世界 ',
      count: -7,
      flag: false,
      nested: { text: '=?base64?x?=' },
    };
    const { structuredContent } = await client.callTool({ name: 'headers', arguments: args });
    expect(structuredContent).toEqual({ got: args });
  });

  test('receives change notifications', async () => {
    const url = await serveHttp(laboratory);
    const client = await connectTo(url, modern);
    const updated = gate();
    client.setNotificationHandler('notifications/resources/updated', () => void updated.pass());
    const subscription = await client.listen({ resourceSubscriptions: ['lab://a'] });
    await callTool(url, 'change', { what: 'resource', uri: 'lab://a' });
    await updated.arrived();
    await subscription.close();
  });

  test('negotiates the newest revision beside a session of an older one', async () => {
    const url = await serveHttp(laboratory);
    const legacy = await connectTo(url, 'legacy');
    const auto = await connectTo(url, 'auto');
    expect([legacy, auto].map((client) => client.getNegotiatedProtocolVersion())).toEqual([
      '2025-11-25',
      '2026-07-28',
    ]);
    const call = { name: 'echo', arguments: { message: 'hi' } };
    expect([await legacy.callTool(call), await auto.callTool(call)].map(textOf)).toEqual([
      'hi',
      'hi',
    ]);
  });
});

describe('a suspended call', () => {
  const form = defineForm({ type: 'object', properties: { name: { type: 'string' } } });
  const keys = ['00'.repeat(32)];

  /** One of several nodes with the same keys; records its handler runs. */
  function greeter(runs: string[], node: string, stateKeys = keys): McpServer {
    const greet = defineTool({
      name: 'greet',
      description: 'Greets whoever is there',
      handler: async (_args, context) => {
        runs.push(node);
        const answer = await context.elicit({ message: 'Who is there?', schema: form });
        return `Hello ${answer.action === 'accept' ? answer.content.name : 'you'}`;
      },
    });
    return createMcpServer({ name: 'greeter', version: '1', tools: [greet], stateKeys });
  }

  const capabilities = { elicitation: {} };
  const quiet = { session: { report: () => {} } };

  /** Calls at the first endpoint and retries with the answer at the second. */
  async function across(first: URL, second: URL) {
    const { result } = await callTool(first, 'greet', {}, { capabilities });
    const [key = ''] = Object.keys(result?.['inputRequests'] as object);
    const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };
    const retry = {
      name: 'greet',
      arguments: {},
      requestState: result?.['requestState'],
      inputResponses,
    };
    return await ask(second, 'tools/call', retry, { id: 2, capabilities });
  }

  test('resumes where it stopped at the same endpoint', async () => {
    const runs: string[] = [];
    const url = await serveHttp(greeter(runs, 'a'));
    const { result } = await across(url, url);
    expect([result?.['content'], runs]).toEqual([[{ type: 'text', text: 'Hello Ada' }], ['a']]);
  });

  test('restarts at another endpoint with the same keys', async () => {
    const runs: string[] = [];
    const urls = [
      await serveHttp(greeter(runs, 'a')),
      await serveHttp(greeter(runs, 'b')),
    ] as const;
    const { result } = await across(...urls);
    expect([result?.['content'], runs]).toEqual([
      [{ type: 'text', text: 'Hello Ada' }],
      ['a', 'b'],
    ]);
  });

  test('is rejected at an endpoint with other keys', async () => {
    const runs: string[] = [];
    const other = greeter(runs, 'b', ['11'.repeat(32)]);
    const [first, second] = [greeter(runs, 'a'), other];
    const { error } = await across(await serveHttp(first), await serveHttp(second, quiet));
    expect([error?.code, runs]).toEqual([-32602, ['a']]);
  });

  test('is rejected if another principal sends the answer', async () => {
    const runs: string[] = [];
    const verifyToken = (subject: string) => ({ subject });
    const url = await serveHttp(greeter(runs, 'a'), { ...quiet, authorization: { verifyToken } });
    const as = (who: string) => ({ headers: { authorization: `Bearer ${who}` }, capabilities });
    const { result } = await callTool(url, 'greet', {}, as('ada'));
    const retry = { name: 'greet', arguments: {}, requestState: result?.['requestState'] };
    const { error } = await ask(url, 'tools/call', retry, { id: 2, ...as('eve') });
    expect([error?.code, runs]).toEqual([-32602, ['a']]);
  });
});

describe('the service of a server from a factory', () => {
  test('keeps one session while the factory returns the same server', async () => {
    const servers = new Map(['a', 'b'].map((name) => [name, countingServer(name)]));
    const url = await serveHttp(({ target }) => servers.get(target.slice(-1)) as McpServer);
    const at = (name: string) => callTool(new URL(`?of=${name}`, url), 'count');
    const said = [await at('a'), await at('b'), await at('a')];
    expect(said.map(({ result }) => result?.['content'])).toEqual(
      ['a has 1', 'b has 1', 'a has 1'].map((text) => [{ type: 'text', text }]),
    );
  });

  test('closes after the idle timeout', async () => {
    const closed = gate();
    const server = countingServer('a', () => void closed.pass());
    const url = await serveHttp(server, { limits: { sessionIdleTimeoutMs: 20 } });
    const first = await callTool(url, 'count');
    await closed.arrived();
    const second = await callTool(url, 'count');
    expect([first.status, second.status]).toEqual([200, 200]);
  });

  test('stays open while a client may return to its task', async () => {
    const url = await serveHttp(laboratory, { limits: { sessionIdleTimeoutMs: 20 } });
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const started = await callTool(url, 'job', { ms: 0 }, { capabilities });
    const taskId = started.result?.['taskId'];
    // Another service closing shows that the timeout has passed.
    const closed = gate();
    const other = await serveHttp(
      countingServer('other', () => void closed.pass()),
      {
        limits: { sessionIdleTimeoutMs: 40 },
      },
    );
    await callTool(other, 'count');
    await closed.arrived();
    const { result } = await ask(url, 'tasks/get', { taskId }, { id: 2, capabilities });
    // The task is known, finished or not.
    expect(result).toMatchObject({ taskId });
  });

  test('closes if others were used more recently, and restarts on demand', async () => {
    const closed = gate();
    const ended: string[] = [];
    const servers = new Map<string, McpServer>();
    const url = await serveHttp(({ target }) => {
      const known = servers.get(target);
      const server =
        known ??
        countingServer(target, () => {
          ended.push(target);
          void closed.pass();
        });
      servers.set(target, server);
      return server;
    });
    const at = (n: number) => callTool(new URL(`?${n}`, url), 'count');
    // One is in use, and 64 more may be idle.
    for (let n = 0; n < 65; n++) await at(n);
    await at(0);
    await at(65);
    await closed.arrived();
    expect(ended).toEqual(['/mcp?1']);
    const { result } = await at(1);
    expect(result?.['content']).toEqual([{ type: 'text', text: '/mcp?1 has 2' }]);
  });

  test('is replaced if its session fails, and the call is answered', async () => {
    const held = gate();
    onTestFinished(() => held.release());
    const hold = defineTool({
      name: 'hold',
      description: 'Waits',
      handler: async () => {
        await held.pass();
        return 'done';
      },
    });
    const plain = defineTool({ name: 'plain', description: 'Answers', handler: () => 'done' });
    const server = createMcpServer({ name: 'failing', version: '1', tools: [hold, plain] });
    const sessions: McpSession[] = [];
    const observed: McpServer = {
      ...server,
      listen: (transport, options) => {
        const session = server.listen(transport, options);
        sessions.push(session);
        return session;
      },
    };
    const url = await serveHttp(observed);
    const call = callTool(url, 'hold');
    await held.arrived();
    sessions[0]?.shutdown('It has failed', 0);
    expect((await call).error).toBeDefined();
    await sessions[0]?.closed;
    expect((await callTool(url, 'plain')).status).toBe(200);
    expect(sessions).toHaveLength(2);
  });

  test('is idle and without timers after its last client has disconnected', async () => {
    const clock = new TestClock();
    const [closed, begun, left] = [gate(), gate(), gate()];
    const hold = defineTool({
      name: 'hold',
      description: 'Waits until its client leaves',
      handler: (_, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
            void left.pass();
          });
          void begun.pass();
        }),
    });
    const onClose = () => void closed.pass();
    const server = createMcpServer({ name: 'left', version: '1', tools: [hold], onClose });
    const url = await serveHttp(server, { clock, limits: { sessionIdleTimeoutMs: 2000 } });
    const leaving = new AbortController();
    const call = callTool(url, 'hold', {}, { signal: leaving.signal });
    await begun.arrived();
    leaving.abort();
    await expect(call).rejects.toThrow();
    await left.arrived();
    clock.increment(1000);
    expect(closed.arrivals).toBe(0);
    clock.increment(1000);
    clock.increment(1000);
    await closed.arrived();
    expect(clock.liveTimers).toBe(0);
  });
});

/** A server that counts its sessions. */
function countingServer(name: string, onClose: () => void = () => {}): McpServer {
  const sessions = new Set<unknown>();
  const count = defineTool({
    name: 'count',
    description: 'Says how many sessions there are',
    handler: (_args, { session }) => {
      sessions.add(session.id);
      return `${name} has ${sessions.size}`;
    },
  });
  return createMcpServer({ name, version: '1', tools: [count], onClose });
}
