/** Sessions in the handshake, before any request. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { Fact, HandlerContext, McpServer, Report, RuntimeError } from 'mcp-actors';
import { TestClock, gate, flush } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import { httpHandler } from '../../src/index.ts';
import type { HttpOptions } from '../../src/index.ts';

const clientInfo = { name: 'greeter', version: '1' };
const initialize = {
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hello' } };

/** An endpoint that counts the sessions its server started. */
function endpoint(
  options: HttpOptions = {},
  listening: Pick<McpServer, 'listen'> | object = {},
  handler: (context: HandlerContext) => string | Promise<string> = () => 'hello',
) {
  const server = createMcpServer({
    name: 'greeted',
    version: '1',
    instructions: 'Be kind',
    tools: [
      defineTool({
        name: 'hello',
        description: 'Says hello.',
        handler: (_, context) => handler(context),
      }),
    ],
  });
  let served = 0;
  const counting: McpServer = {
    ...server,
    listen: (...args) => {
      served += 1;
      return server.listen(...args);
    },
    ...listening,
  };
  const endpoint = httpHandler(counting, options);
  onTestFinished(() => endpoint.close());
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const send = async (method: string, message?: object, session?: string) =>
    endpoint(
      new Request('http://localhost/mcp', {
        method,
        headers: { ...headers, ...(session === undefined ? {} : { 'mcp-session-id': session }) },
        ...(message ? { body: JSON.stringify(message) } : {}),
      }),
    );
  const greet = async () => {
    const response = await send('POST', initialize);
    expect(response.headers.get('content-type')).toBe('application/json');
    const body: unknown = await response.json();
    return { body, id: response.headers.get('mcp-session-id') ?? '' };
  };
  return { handler: endpoint, send, greet, served: () => served };
}

test('answers a client that only completes the handshake without serving a session', async () => {
  const { send, greet, served } = endpoint();
  const { body, id } = await greet();
  expect(body).toMatchObject({
    id: 'first',
    result: {
      protocolVersion: '2025-06-18',
      serverInfo: { name: 'greeted' },
      instructions: 'Be kind',
      capabilities: { tools: {} },
    },
  });
  expect((await send('POST', initialized, id)).status).toBe(202);
  expect((await send('DELETE', undefined, id)).status).toBe(204);
  expect((await send('DELETE', undefined, id)).status).toBe(404);
  expect(served()).toBe(0);
});

test("passes the client's handshake on to the session started by its first request", async () => {
  const { handler, send, greet, served } = endpoint();
  const { id } = await greet();
  expect((await send('POST', initialized, id)).status).toBe(202);
  expect(served()).toBe(0);
  const answer: unknown = await (await send('POST', call, id)).json();
  expect(answer).toMatchObject({ id: 1, result: { content: [{ text: 'hello' }] } });
  expect(served()).toBe(1);
  expect(handler.sessions[0]?.dump()).toMatchObject({
    state: 'rootsKnown',
    client: { name: 'greeter', revision: '2025-06-18' },
  });
});

test('serves requests before initialized, but sends none to the client until then', async () => {
  const { handler, send, greet } = endpoint();
  const { id } = await greet();
  const states = () => handler.sessions.map(({ state }) => state);
  expect((await send('POST', call, id)).status).toBe(200);
  expect(states()).toEqual(['negotiated']);
  // Other notifications do not complete the handshake.
  const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
  expect((await send('POST', changed, id)).status).toBe(202);
  expect(states()).toEqual(['negotiated']);
  expect((await send('POST', initialized, id)).status).toBe(202);
  expect(states()).toEqual(['rootsKnown']);
});

test('rejects a second initialize after initialized', async () => {
  const { send, greet } = endpoint();
  const { id } = await greet();
  await send('POST', initialized, id);
  expect(await (await send('POST', initialize, id)).json()).toMatchObject({
    error: { code: -32600, message: expect.stringContaining('already been initialized') as string },
  });
});

test("includes an initialized client in the endpoint's sessions", async () => {
  const { handler, greet, served } = endpoint();
  await greet();
  expect(handler.sessions.map(({ state }) => state)).toEqual(['negotiated']);
  expect(served()).toBe(1);
});

test('starts a watched session with its initialize', async () => {
  const emitted: string[] = [];
  const watched = endpoint({ session: { onEmitted: ({ type }) => emitted.push(type) } });
  await watched.greet();
  expect(emitted).toEqual(['session.negotiated']);
});

test('starts the actors with initialize only if the report receives every state', async () => {
  const states: string[] = [];
  const report: Report = ({ name, message }) => name === 'session.state' && states.push(message);
  const told = endpoint({ session: { report } });
  await told.greet();
  expect(states).toEqual(['uninitialized', 'negotiated']);
  const quiet = endpoint({
    session: { report: Object.assign(() => {}, { threshold: 'info' } as const) },
  });
  await quiet.greet();
  expect(quiet.served()).toBe(0);
});

test('lets the session reject an invalid initialize with a reason', async () => {
  const { handler, send, served } = endpoint();
  const answer = await send('POST', { ...initialize, params: { capabilities: {} } });
  expect(answer.headers.get('mcp-session-id')).toBeNull();
  expect(await answer.json()).toMatchObject({ error: { code: -32602 } });
  expect(served()).toBe(1);
  // Its client could not return to it.
  expect(handler.sessions).toEqual([]);
});

test('ends an unused session after its idle timeout and when the endpoint closes', async () => {
  const clock = new TestClock();
  const { handler, send, greet, served } = endpoint({
    clock,
    limits: { sessionIdleTimeoutMs: 5000 },
  });
  const { id } = await greet();
  for (let second = 0; second < 7; second++) clock.increment(1000);
  expect((await send('POST', initialized, id)).status).toBe(404);
  const other = await greet();
  await handler.close();
  expect((await send('POST', initialized, other.id)).status).toBe(404);
  expect(served()).toBe(0);
});

test('reports a server that cannot be started to the request that needs it, and ends the session', async () => {
  const listen = () => {
    throw new Error('no room');
  };
  const clock = new TestClock();
  const facts: Fact[] = [];
  const report: Report = (fact) => void facts.push(fact);
  const { send, greet } = endpoint({ clock, report }, { listen });
  const { id } = await greet();
  expect((await send('POST', initialized, id)).status).toBe(202);
  const failed = await send('POST', call, id);
  expect([failed.status, await failed.text()]).toEqual([
    500,
    expect.stringContaining('No server could be created for this session'),
  ]);
  expect(facts).toMatchObject([
    { name: 'server.failed', details: { error: { message: 'no room' } } },
  ]);
  expect((await send('POST', call, id)).status).toBe(404);
  clock.increment(1000);
  expect(clock.liveTimers).toBe(0);
});

test('ends a session for its client when the host ends it', async () => {
  const { handler, send, greet } = endpoint();
  const { id } = await greet();
  expect((await send('POST', call, id)).status).toBe(200);
  const stream = await send('GET', undefined, id);
  handler.sessions[0]?.shutdown('enough', 0);
  // The client is not asked to reconnect.
  expect((await stream.text()).match(/^retry:/gm)).toBeNull();
  expect(handler.sessions).toEqual([]);
  expect((await send('POST', call, id)).status).toBe(404);
});

test("uses the endpoint's clock in sessions", async () => {
  const clock = new TestClock();
  const asked = gate();
  const { send, greet } = endpoint({ clock }, {}, async (context) => {
    const answer = context.request('test/question', undefined, { timeoutMs: 5000 });
    void asked.pass();
    return answer.then(
      () => 'answered',
      ({ code }: RuntimeError) => code,
    );
  });
  const { id } = await greet();
  await send('POST', initialized, id);
  const stream = await send('POST', call, id);
  await asked.arrived();
  clock.increment(5000);
  expect(await stream.text()).toContain('TIMEOUT');
});

test('keeps a session alive by any client message, answered or not', async () => {
  const clock = new TestClock();
  const { send, greet } = endpoint({ clock, limits: { sessionIdleTimeoutMs: 10_000 } });
  const { id } = await greet();
  const pass = () => {
    for (let second = 0; second < 9; second++) clock.increment(1000);
  };
  const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
  for (const said of [initialized, changed, changed]) {
    pass();
    expect((await send('POST', said, id)).status).toBe(202);
  }
  pass();
  expect((await send('POST', call, id)).status).toBe(200);
});

test('closes the endpoint after all calls are answered, leaving no timer', async () => {
  const clock = new TestClock();
  const running = gate();
  const { handler, send, greet } = endpoint({ clock, sse: true }, {}, () =>
    running.pass().then(() => 'done'),
  );
  const { id } = await greet();
  const answer = send('POST', call, id);
  await running.arrived();
  let isClosed = false;
  const closed = handler.close().then(() => void (isClosed = true));
  for (const [message, status] of [
    [call, 503],
    [[call], 503],
    [initialized, 202],
    [{ jsonrpc: '2.0', id: 's-1', result: {} }, 202],
  ] as const) {
    expect((await send('POST', message, id)).status).toBe(status);
  }
  await flush();
  expect(isClosed).toBe(false);
  running.release();
  expect(await (await answer).json()).toMatchObject({ result: { content: [{ text: 'done' }] } });
  await closed;
  expect(clock.liveTimers).toBe(0);
});

test('closes an idle session before the response to DELETE, and drains a busy one', async () => {
  const states: string[] = [];
  const report: Report = ({ name, message }) => name === 'session.state' && states.push(message);
  const running = gate();
  const { send, greet } = endpoint({ session: { report } }, {}, () =>
    running.pass().then(() => 'done'),
  );
  onTestFinished(() => running.release());
  const idle = await greet();
  await send('DELETE', undefined, idle.id);
  expect(states).toEqual(['uninitialized', 'negotiated', 'draining', 'closed']);
  const busy = await greet();
  const answer = send('POST', call, busy.id);
  await running.arrived();
  states.length = 0;
  await send('DELETE', undefined, busy.id);
  expect(await (await answer).json()).toHaveProperty('error');
  expect(states).toContain('draining');
});

test('has no maintenance items after sessions have ended and calls are answered', async () => {
  const clock = new TestClock();
  const { send, greet } = endpoint({ clock });
  const { id } = await greet();
  await (await send('POST', call, id)).json();
  await send('DELETE', undefined, id);
  clock.increment(1000);
  expect(clock.liveTimers).toBe(0);
});
