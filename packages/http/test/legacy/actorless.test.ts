/** Sessions without actors, until something needs them. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { HandlerContext, ListenOptions, McpServer, McpSession, Report } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import { httpHandler } from '../../src/index.ts';
import type { ActorlessClient } from '../../../../src/machines/session-ports.ts';
import { plainActor } from '../../../../src/machines/port.ts';
import { readInitialize } from '../../../../src/protocol/initialize.ts';
import { ServedSession } from '../../../../src/server/session.ts';
import type { SharedTransportActors } from '../../../../src/transports/transport.ts';
import { Quotas } from '../../../../src/actors/memory-budget.ts';

interface Arranged {
  readonly capabilities?: object;
  readonly handler?: (context: HandlerContext) => string | Promise<string>;
  readonly onClose?: (id: string) => void;
  readonly report?: Report;
  /** Options added by the host's `listen`. */
  readonly added?: ListenOptions;
}

const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** An initialized client, and the session started by its first request. */
async function readyClient({ capabilities = {}, handler, onClose, report, added }: Arranged = {}) {
  const run = handler ?? (() => 'hello');
  const server = createMcpServer({
    name: 'actorless',
    version: '1',
    tools: [
      defineTool({
        name: 'hello',
        description: 'Says hello.',
        handler: (_, context) => run(context),
      }),
    ],
    logging: {},
    ...(onClose ? { onClose: ({ id }) => onClose(id) } : {}),
  });
  const sessions: McpSession[] = [];
  const observed: McpServer = {
    ...server,
    listen: (transport, options) => {
      const session = server.listen(transport, { ...options, ...added });
      sessions.push(session);
      return session;
    },
  };
  const endpoint = httpHandler(observed, { session: report ? { report } : {} });
  onTestFinished(() => endpoint.close());
  let id = '';
  const send = (method: string, message?: object) =>
    endpoint(
      new Request('http://localhost/mcp', {
        method,
        headers: id === '' ? headers : { ...headers, 'mcp-session-id': id },
        ...(message ? { body: JSON.stringify({ jsonrpc: '2.0', ...message }) } : {}),
      }),
    );
  const clientInfo = { name: 'ready', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities, clientInfo };
  const greeted = await send('POST', { id: 'first', method: 'initialize', params });
  id = greeted.headers.get('mcp-session-id') ?? '';
  expect((await send('POST', { method: 'notifications/initialized' })).status).toBe(202);
  const call = (callId: number) =>
    send('POST', { id: callId, method: 'tools/call', params: { name: 'hello' } });
  const session = () => {
    const [only] = sessions;
    if (!(only instanceof ServedSession)) throw new Error('there is no session yet');
    return only;
  };
  return { send, call, session };
}

const hasActors = (session: ServedSession) => session.actorless === undefined;

/** Messages of a stream. */
async function* messagesOf({ body }: Response): AsyncGenerator<Record<string, unknown>> {
  let text = '';
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(chunk);
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data) as Record<string, unknown>;
    }
  }
}

async function nextOf(messages: AsyncGenerator<Record<string, unknown>>) {
  const { value } = await messages.next();
  return value as Record<string, unknown>;
}

const hello = { result: { content: [{ type: 'text', text: 'hello' }] } };

test('serves a client from request to deletion without actors, and reports the end', async () => {
  const closed: string[] = [];
  const facts: string[] = [];
  const report: Report = Object.assign(
    ({ name }: { readonly name: string }) => void facts.push(name),
    { threshold: 'info' } as const,
  );
  const { send, call, session } = await readyClient({ onClose: (id) => closed.push(id), report });
  expect(await (await call(1)).json()).toMatchObject({ id: 1, ...hello });
  expect(await (await send('POST', { id: 2, method: 'ping' })).json()).toMatchObject({
    result: {},
  });
  expect(session().notify('notifications/x')).toBe(true);
  expect((await send('DELETE')).status).toBe(204);
  expect(hasActors(session())).toBe(false);
  expect(closed).toEqual([session().id]);
  // There was no stream for the notification.
  expect(facts).toEqual(['session.closed', 'pushes.lost']);
  expect(session().notify('notifications/x')).toBe(false);
  const cause = { kind: 'shutdown', reason: 'The client ended the session' };
  expect(await session().closed).toEqual(cause);
  // Reading the actor still creates it, already ended.
  expect(session().actor.getSnapshot()).toMatchObject({ status: 'done', output: { cause } });
  expect(closed).toHaveLength(1);
});

test('starts the actors for a call that sends a request to the client', async () => {
  const { send, call, session } = await readyClient({
    capabilities: { sampling: {} },
    handler: async (context) => {
      const request = { messages: [{ role: 'user', content: 'name?' }], maxTokens: 1 } as const;
      const { content } = await context.sample(request);
      return JSON.stringify(content);
    },
  });
  const messages = messagesOf(await call(7));
  const { id, method } = await nextOf(messages);
  expect(method).toBe('sampling/createMessage');
  expect(hasActors(session())).toBe(true);
  const result = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Ada' } };
  expect((await send('POST', { id, result })).status).toBe(202);
  const answer = await nextOf(messages);
  expect(answer).toMatchObject({ id: 7 });
  expect(JSON.stringify(answer)).toContain('Ada');
  expect(session().state).toBe('rootsKnown');
});

test('cancels a call in flight through actors started later', async () => {
  const running = gate();
  onTestFinished(() => running.release());
  let reason: unknown;
  const { send, call, session } = await readyClient({
    handler: async ({ signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason;
      });
      await running.pass();
      return 'late';
    },
  });
  const answer = call(3);
  await running.arrived();
  expect(hasActors(session())).toBe(false);
  expect(session().dump()).toMatchObject({ state: 'rootsKnown', calls: [{ id: 3 }] });
  expect(hasActors(session())).toBe(true);
  const params = { requestId: 3, reason: 'enough' };
  expect((await send('POST', { method: 'notifications/cancelled', params })).status).toBe(202);
  expect(await (await answer).text()).toBe('');
  expect(String(reason)).toContain('enough');
  expect(session().dump().calls).toEqual([]);
});

test('drains a call in flight at the end of its session', async () => {
  const running = gate();
  onTestFinished(() => running.release());
  const { send, call, session } = await readyClient({
    handler: () => running.pass().then(() => 'late'),
  });
  const answer = call(4);
  await running.arrived();
  await send('DELETE');
  expect(hasActors(session())).toBe(true);
  expect(await (await answer).json()).toMatchObject({ id: 4, error: { code: -32000 } });
});

test('starts the actors for a standalone stream and tells them about it', async () => {
  const { send, call, session } = await readyClient({ capabilities: { roots: {} } });
  expect((await call(1)).status).toBe(200);
  expect(hasActors(session())).toBe(false);
  const messages = messagesOf(await send('GET'));
  expect(await nextOf(messages)).toMatchObject({ method: 'roots/list' });
  expect(hasActors(session())).toBe(true);
});

test.each([
  { roots: undefined, needs: false },
  { roots: {}, needs: true },
])(
  'starts the actors for a handler that asks for roots if the client has any: $needs',
  async (each) => {
    const { roots, needs } = each;
    const { call, session } = await readyClient({
      capabilities: roots ? { roots } : {},
      handler: async (context) => (await context.roots({ timeoutMs: 0 })).status,
    });
    expect(await (await call(1)).text()).toContain(needs ? 'data' : 'undeclared');
    expect(hasActors(session())).toBe(needs);
  },
);

test('starts the actors at once for a watched session', async () => {
  const emitted: string[] = [];
  const added: ListenOptions = { onEmitted: ({ type }) => emitted.push(type) };
  const { call, session } = await readyClient({ added });
  expect(await (await call(1)).json()).toMatchObject(hello);
  expect(hasActors(session())).toBe(true);
  expect(emitted).toEqual(['session.negotiated', 'session.initialized', 'roots.updated']);
});

test('fails the session if its output throws', async () => {
  const reading = readInitialize({
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'ready', version: '1' },
  });
  if (!reading.ok) throw new Error(reading.fault);
  const broken = new Error('no way out');
  let router: Parameters<ActorlessClient['onServed']>[0] | undefined;
  const known: ActorlessClient = {
    client: reading.client,
    isInitialized: true,
    onInitializeAnswered: () => {},
    writer: {
      receive: () => {
        throw broken;
      },
    },
    onServed: (to) => {
      router = to;
    },
  };
  const nothing = plainActor(() => ({ receive: () => {} }));
  const ends = {
    reader: nothing,
    writer: nothing,
    quotas: new Quotas(),
    client: known,
  } as SharedTransportActors;
  const quiet = Object.assign(() => {}, { threshold: 'error' } as const);
  const session = createMcpServer({ name: 's', version: '1' }).listen(() => ends, {
    report: quiet,
  });
  const origin = { idScope: 'session', receivedAt: 0 };
  const ping = { kind: 'request', id: 1, method: 'ping', origin } as never;
  router?.send({ type: 'frames.received', frames: [ping] });
  expect(await session.closed).toEqual({ kind: 'failure', error: broken });
});
