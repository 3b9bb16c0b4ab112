/** What a connection tells of itself at one moment. */
import { fileURLToPath } from 'node:url';
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { connect, openConnection } from 'mcp-actors/client';
import type { Connection } from 'mcp-actors/client';
import { serveHttp } from 'mcp-actors/serve';
import { TestClock, gate } from 'mcp-actors/testing';
import { filter, firstValueFrom } from 'rxjs';
import { expect, onTestFinished, test } from 'vitest';
import type { AnyActorRef } from 'xstate';
import { ConnectionScope, connectionIn, transportIn } from '../src/connection/connection-scope.ts';
import type { ConnectionParts, ConnectionSnapshot } from '../src/connection/connection-scope.ts';
import { headlineOf } from '../../diagnostics/src/headline.ts';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';

const held = gate();
const ours = createMcpServer({
  name: 'ours',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'wait',
      description: 'Does not end',
      handler: async (_args, { signal }) => {
        await held.pass(signal);
        return 'done';
      },
    }),
    defineTool({
      name: 'ask',
      description: 'Asks',
      handler: async (_args, context) => {
        await context.elicit({ message: 'Well?', schema: { type: 'object', properties: {} } });
        return 'asked';
      },
    }),
  ],
});

const closing = (connection: Connection): Connection => {
  onTestFinished(() => connection.close());
  return connection;
};

const toOurs = () => {
  const { transport, peer } = memory();
  ours.listen(transport, { report: () => {} });
  return toSdkTransport(peer);
};

const stateOf = (connection: Connection, id: string) =>
  connection.dump().actors.find((actor) => actor.id === id)?.state;

test('a dump tells the server, the lists, and what is in flight both ways', async () => {
  const answer = gate();
  const connection = closing(
    await connect(
      { transport: toOurs },
      {
        name: 'lab',
        era: 'legacy',
        elicit: async () => {
          await answer.pass();
          return { action: 'cancel' };
        },
      },
    ),
  );
  await connection.listTools();
  const waits = connection.callTool('wait');
  const asks = connection.callTool('ask');
  await answer.arrived();
  const dump = connection.dump();
  expect(dump).toMatchObject({
    side: 'host',
    name: 'lab',
    state: 'ready.fresh',
    attempt: 0,
    launches: 1,
    server: { name: 'ours', version: '1.0.0', era: 'legacy', capabilities: { tools: {} } },
    pending: [
      { id: 3, method: 'tools/call', state: 'sent' },
      { id: 4, method: 'tools/call', state: 'sent' },
    ],
    calls: [{ method: 'elicitation/create', state: 'running' }],
    lists: [{ name: 'tools', state: expect.stringMatching(/^known/), entries: 2, known: 'known' }],
  });
  expect(dump).not.toHaveProperty('loss');
  expect(dump.actors).toContainEqual({
    ...{ id: 'tools list', chart: 'catalog', kind: 'machine' },
    ...{ status: 'active', state: expect.stringMatching(/^known/) as string },
  });
  answer.release();
  held.release();
  await Promise.all([waits, asks]);
  expect(connection.dump()).toMatchObject({ pending: [], calls: [] });
});

test('before a modern server a dump has the subscription to its lists', async () => {
  const connection = closing(await connect({ transport: toOurs }, { era: 'modern' }));
  await connection.listTools();
  expect(connection.dump().server).toMatchObject({ era: 'modern' });
  expect(stateOf(connection, 'lists listening')).toBe('asked.open');
  expect(connection.dump().actors).toContainEqual({
    ...{ id: 'lists updates', chart: 'updates', kind: 'machine' },
    ...{ status: 'active', state: 'subscribed' },
  });
});

test('a dump says why there is no connection, with the last words, and when the next is made', async () => {
  const args = ['-e', 'console.error("ended at start"); process.exitCode = 9'];
  const connection = closing(
    openConnection(
      { command: process.execPath, args },
      {
        name: 'crashing',
        era: 'legacy',
        restart: { initialMs: 600_000, maxMs: 600_000, jitter: 0 },
        report: () => {},
      },
    ),
  );
  await firstValueFrom(connection.state$.pipe(filter(({ value }) => value === 'backoff')));
  expect(connection.dump()).toMatchObject({
    state: 'backoff',
    attempt: 1,
    delayMs: 600_000,
    launches: 1,
    loss: {
      kind: 'exited',
      message: expect.stringContaining('Last stderr output: ended at start') as string,
    },
    lastWords: 'ended at start',
  });
  const said: string[] = [];
  connection.events$.subscribe((event) => event.type === 'stderr' && said.push(event.text));
  expect(said.join('')).toContain('ended at start');
});

test('of a launched server the process is among the actors', async () => {
  const server = fileURLToPath(new URL('odd-server.mjs', import.meta.url));
  const connection = closing(
    await connect({ command: process.execPath, args: [server] }, { report: () => {} }),
  );
  expect(stateOf(connection, 'process')).toBe('launched.child.running,group.kept');
  expect(connection.dump().actors).toContainEqual({
    ...{ id: 'channel', kind: 'actor', status: 'active', state: 'open' },
  });
  expect(connection.dump().actors).toContainEqual({
    ...{ id: 'stdio-channel', kind: 'machine', status: 'active', state: 'open' },
  });
});

test('over HTTP the chart of the channel is among the actors', async () => {
  const served = await serveHttp(ours, { port: 0 });
  onTestFinished(() => served.close());
  const connection = closing(await connect({ url: served.url.href }, { era: 'legacy' }));
  expect(stateOf(connection, 'http-channel')).toMatch(/^handshake\.done/);
  expect(stateOf(connection, 'channel')).toBe(stateOf(connection, 'http-channel'));
  await expect.poll(() => stateOf(connection, 'server-push')).toBe('served');
  expect(connection.dump().actors).toContainEqual({
    ...{ id: "the server's own stream", chart: 'stream', kind: 'machine' },
    ...{ status: 'active', state: 'open' },
  });
});

test('over HTTP the stream of a call is among the actors until the call has ended', async () => {
  const served = await serveHttp(ours, { port: 0 });
  onTestFinished(() => served.close());
  const answer = gate();
  const elicit = async () => {
    await answer.pass();
    return { action: 'cancel' } as const;
  };
  const connection = closing(await connect({ url: served.url.href }, { era: 'legacy', elicit }));
  const asks = connection.callTool('ask');
  await answer.arrived();
  expect(stateOf(connection, 'tools/call')).toBe('open');
  answer.release();
  await asks;
  await expect.poll(() => stateOf(connection, 'tools/call')).toBeUndefined();
});

test('of a server that does not greet it tells the end of the attempt, and that nothing was heard', async () => {
  const clock = new TestClock();
  const options = { name: 'silent', era: 'legacy', clock, report: () => {} } as const;
  const restart = { initialMs: 600_000, maxMs: 600_000, jitter: 0 };
  const silent = () => toSdkTransport(memory().peer);
  const connection = closing(openConnection({ transport: silent }, { ...options, restart }));
  await firstValueFrom(connection.traffic$.pipe(filter(({ direction }) => direction === 'out')));
  clock.increment(12_000);
  const dump = connection.dump();
  expect(dump).toMatchObject({
    ...{ state: 'connecting.greeting', leftMs: 18_000, isUnheard: true },
    pending: [{ method: 'initialize', ageMs: 12_000, leftMs: 18_000 }],
  });
  expect(headlineOf(dump)).toMatchObject({ mood: 'waiting', ageMs: 12_000, leftMs: 18_000 });
  // Begun anew, it has as much time as before.
  void connection.reconnect().catch(() => {});
  expect(connection.dump()).toMatchObject({ leftMs: 30_000 });
  clock.increment(29_999);
  expect(connection.dump()).toMatchObject({ leftMs: 1 });
  expect(connection.state.value).toBe('connecting');
  clock.increment(1);
  await expect.poll(() => connection.state.value).toBe('backoff');
  expect(connection.dump()).not.toHaveProperty('leftMs');
});

test('of a server that was lost it still tells when that was heard', async () => {
  const clock = new TestClock();
  const transports = [toOurs(), toSdkTransport(memory().peer)];
  const connection = closing(
    await connect(
      { transport: () => transports.shift() ?? toSdkTransport(memory().peer) },
      { name: 'lab', era: 'legacy', clock, report: () => {} },
    ),
  );
  clock.increment(20_000);
  expect(connection.dump()).toMatchObject({ quietMs: 20_000 });
  void connection.reconnect().catch(() => {});
  clock.increment(1000);
  expect(connection.dump()).toMatchObject({ quietMs: 21_000 });
  expect(connection.dump()).not.toHaveProperty('isUnheard');
});

test('it counts from when each of its timers began, and from the last word of any of its channels', () => {
  const clock = new TestClock();
  const heardBy = (lastHeardAt: number) =>
    ({ getSnapshot: () => ({ behaviour: { view: { lastHeardAt } } }) }) as unknown as AnyActorRef;
  let snapshot = {} as ConnectionSnapshot;
  const scope = new ConnectionScope({
    actor: { getSnapshot: () => snapshot },
    kind: { logic: () => ({}) },
    limits: { connectTimeoutMs: 30, loginTimeoutMs: 600 },
    clock,
    report: () => {},
  } as unknown as ConnectionParts);
  const moved = (connecting: string | undefined, router?: AnyActorRef) => {
    clock.increment(1);
    const matches = (state: { readonly connecting: string }) => state.connecting === connecting;
    snapshot = { matches, context: { messaging: router && { router } } } as never;
    scope.moved(snapshot);
    return [scope.givenUpAt, scope.lastHeardAt];
  };
  const [first, second] = [heardBy(5), heardBy(3)];
  const start = clock.now();
  expect(moved('timed', first)).toEqual([start + 1 + 30, 5]);
  expect(moved('timed', first)).toEqual([start + 1 + 30, 5]);
  expect(moved('authorizing', second)).toEqual([start + 3 + 600, 5]);
  expect(moved('timed', second)).toEqual([start + 4 + 30, 5]);
  expect(moved(undefined)).toEqual([undefined, 5]);
  expect(moved(undefined, heardBy(9))).toEqual([undefined, 9]);
});

test('its channels, their routers and who listens report to its host, and share its ids and its times', () => {
  const facts: string[] = [];
  let tools: object = {};
  const own = {
    limits: { connectTimeoutMs: 30 },
    clock: new TestClock(),
    report: ({ name }: { readonly name: string }) => void facts.push(name),
  };
  const parts = { ...own, onStderr: () => {}, onAuthorize: () => {}, handlers: new Map() };
  const kind = { logic: (given: object) => (tools = given) };
  const scope = new ConnectionScope({ ...parts, kind } as unknown as ConnectionParts);
  const { onStderr: stderr, onAuthorize: authorize, handlers } = parts;
  expect(tools).toEqual({ ...own, observed: scope, stderr, authorize });
  const { requestIds, traffic } = scope;
  const routing = { ...own, peer: 'server', handlers, requestIds, traffic };
  for (const [name, value] of Object.entries(routing)) {
    expect(scope.routing).toHaveProperty(name, value);
  }
  traffic.listen({
    received: () => {
      throw new Error('a listener');
    },
  });
  traffic.received([], 0);
  expect(facts).toEqual(['listener.failed']);
});

test('an actor of a host’s own machine is told what its input lacks', () => {
  expect(() => connectionIn({ scope: {} })).toThrow('pass on the input of its parent');
  const scope = Object.create(ConnectionScope.prototype) as ConnectionScope;
  expect(() => transportIn({ scope, ends: undefined } as never)).toThrow('must have "ends"');
});
