/** Sessions in a host's own actor system: invoked, spawned, stopped, and with the host's actors in their places. */
import { createMcpServer, memory, sessionOf } from 'mcp-actors';
import type { Fact, McpServer, SessionEmitted, SessionLogicInput } from 'mcp-actors';
import { ScriptedPeer, TestClock, gate, toolCall, flush } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { assign, createActor, setup, waitFor } from 'xstate';
import { echo, textOf, tool } from '../contract/serving.ts';

type Told = { readonly type: 'told'; readonly name: string; readonly event: SessionEmitted };

/** A host that invokes one session, and is done when it is. */
function hostOf(server: McpServer) {
  return setup({
    types: {
      input: {} as SessionLogicInput,
      context: {} as {
        input: SessionLogicInput;
        heard: readonly string[];
        kind?: string;
        failure?: unknown;
      },
      events: {} as Told,
      output: {} as string,
    },
    actors: { session: server.sessionLogic },
  }).createMachine({
    context: ({ input }) => ({ input, heard: [] }),
    initial: 'serving',
    on: {
      told: {
        actions: assign({ heard: ({ context, event }) => [...context.heard, event.event.type] }),
      },
    },
    states: {
      serving: {
        invoke: {
          id: 'session',
          src: 'session',
          input: ({ context, self }) => ({
            ...context.input,
            onEmitted: (event) => self.send({ type: 'told', name: 'session', event }),
          }),
          onDone: {
            target: 'done',
            actions: assign({ kind: ({ event }) => event.output.cause.kind }),
          },
          onError: { target: 'failed', actions: assign({ failure: ({ event }) => event.error }) },
        },
      },
      done: { type: 'final' },
      failed: {},
    },
    output: ({ context }) => String(context.kind),
  });
}

function wired(): {
  readonly peer: ScriptedPeer;
  readonly transport: SessionLogicInput['transport'];
} {
  const { transport, peer } = memory();
  return { transport, peer: new ScriptedPeer(peer) };
}

const server = createMcpServer({ name: 'embedded', version: '1', tools: [echo] });

describe('a host machine that invokes a session', () => {
  test('serves a client, receives emitted events and gets the output', async () => {
    const { peer, transport } = wired();
    const clock = new TestClock();
    const host = createActor(hostOf(server), { input: { transport }, clock }).start();
    await peer.handshake({ capabilities: { roots: {} } });
    peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///a' }] });
    expect(textOf(await peer.call('echo', { n: 1 }))).toBe('{"n":1}');
    expect(host.getSnapshot().children['session']?.getSnapshot()).toMatchObject({
      value: { open: { lifecycle: 'rootsKnown' } },
      context: { client: { info: { name: 'scripted-peer' } }, report: { status: 'known' } },
    });
    peer.end();
    const { output, context } = await waitFor(host, ({ status }) => status === 'done');
    expect(output).toBe('input-ended');
    expect(context.heard).toEqual([
      'session.negotiated',
      'session.initialized',
      'roots.updated',
      'session.closed',
    ]);
    expect(clock.liveTimers).toBe(0);
  });

  test("controls the time of the session with the system's clock", async () => {
    const { peer, transport } = wired();
    const clock = new TestClock();
    const host = createActor(hostOf(server), { input: { transport }, clock }).start();
    await peer.handshake({ capabilities: { roots: {} } });
    await peer.request('roots/list');
    clock.increment(5000);
    await waitFor(host, ({ context }) => context.heard.includes('roots.updated'));
    const session = sessionOf(host.getSnapshot().children['session'] as never);
    expect(session.dump()).toMatchObject({
      roots: { state: 'retrying', status: 'failed' },
      ageMs: 5000,
    });
    host.stop();
    expect(clock.liveTimers).toBe(0);
  });

  test('gets an error for a failing transport or a restored persisted session', async () => {
    const broken = () => {
      throw new Error('no line');
    };
    const failing = createActor(hostOf(server), { input: { transport: broken } }).start();
    expect(failing.getSnapshot()).toMatchObject({
      value: 'failed',
      context: { failure: { message: 'no line' } },
    });

    const { transport } = wired();
    const host = createActor(hostOf(server), { input: { transport } }).start();
    const snapshot = JSON.parse(JSON.stringify(host.getPersistedSnapshot())) as never;
    host.stop();
    const restored = createActor(hostOf(server), { input: { transport }, snapshot }).start();
    expect(restored.getSnapshot()).toMatchObject({ value: 'failed' });
    expect(String(restored.getSnapshot().context.failure)).toContain('cannot be restored');
  });
});

describe('a host that stops a session', () => {
  test('releases its timers, calls, requests and listeners immediately', async () => {
    const running = gate();
    const ended: string[] = [];
    const hold = tool('hold', async (_args, { signal, request }) => {
      signal.addEventListener('abort', () => ended.push(String(signal.reason)));
      running.release();
      await request('custom/question').catch((error: unknown) => ended.push(String(error)));
      return 'too late';
    });
    const holding = createMcpServer({ name: 'holding', version: '1', tools: [hold] });
    const { transport, peer: wire } = memory();
    const peer = new ScriptedPeer(wire);
    const clock = new TestClock();
    const facts: Fact[] = [];
    const aborter = new AbortController();
    const report = (fact: Fact) => facts.push(fact);
    const host = createActor(hostOf(holding), {
      input: { transport, report, signal: aborter.signal, limits: { keepaliveIntervalMs: 1000 } },
      clock,
    }).start();
    const session = sessionOf(host.getSnapshot().children['session'] as never);
    const states: string[] = [];
    session.state$.subscribe({
      next: (state) => states.push(state),
      complete: () => states.push('.'),
    });
    await peer.handshake();
    peer.send(toolCall(1, 'hold'));
    await running.pass();
    await peer.request('custom/question');
    expect(clock.liveTimers).toBeGreaterThan(0);

    host.stop();
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'The actor was stopped' });
    expect(clock.liveTimers).toBe(0);
    await flush();
    expect(ended.map((text) => text.includes('The session has ended'))).toEqual([true, true]);
    expect(states.at(-1)).toBe('.');
    const sent = peer.received.length;
    // Nobody listens any more: neither to the server's lists, nor to the signal, nor to the wire.
    holding.tools.add(echo);
    holding.resourceUpdated('a:b');
    aborter.abort();
    peer.send(toolCall(2, 'hold'));
    clock.increment(60_000);
    await flush();
    expect(peer.received).toHaveLength(sent);
    expect(clock.liveTimers).toBe(0);
    expect(facts.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('many sessions in one host', () => {
  const spawning = setup({
    types: {
      context: {} as { heard: readonly string[] },
      events: {} as
        | { type: 'connected'; name: string; transport: SessionLogicInput['transport'] }
        | Told,
    },
    actors: { session: server.sessionLogic },
  }).createMachine({
    context: { heard: [] },
    on: {
      connected: {
        actions: assign(({ spawn, event: { name, transport }, self, context }) => {
          spawn('session', {
            id: name,
            input: { transport, onEmitted: (event) => self.send({ type: 'told', name, event }) },
          });
          return context;
        }),
      },
      told: {
        actions: assign({
          heard: ({ context, event }) => [...context.heard, `${event.name}: ${event.event.type}`],
        }),
      },
    },
  });

  test('do not collide and end independently', async () => {
    const host = createActor(spawning).start();
    const clients = Array.from({ length: 10 }, (_, n) => ({ name: `client-${n}`, ...wired() }));
    for (const { name, transport } of clients) host.send({ type: 'connected', name, transport });
    await Promise.all(
      clients.map(({ peer, name }) => peer.handshake({ clientInfo: { name, version: '1' } })),
    );
    const sessionAt = (name: string) => sessionOf(host.getSnapshot().children[name] as never);
    const names = clients.map(({ name }) => sessionAt(name).dump().client?.name);
    expect(names).toEqual(clients.map(({ name }) => name));
    expect(new Set(clients.map(({ name }) => sessionAt(name).id)).size).toBe(10);

    clients[3]?.peer.end();
    await sessionAt('client-3').closed;
    expect(textOf(await clients[4]!.peer.call('echo', {}))).toBe('{}');
    const closed = host.getSnapshot().context.heard.filter((line) => line.endsWith('closed'));
    expect(closed).toEqual(['client-3: session.closed']);
    expect(Object.values(host.system.getAll())).toEqual([]);
    host.stop();
  });

  test('are registered with the server like listening ones', async () => {
    const reading = createMcpServer({
      name: 'reading',
      version: '1',
      resources: [{ uri: 'a:b', name: 'ab', read: () => 'text' }],
    });
    const host = createActor(
      spawning.provide({ actors: { session: reading.sessionLogic } }),
    ).start();
    const { peer, transport } = wired();
    host.send({ type: 'connected', name: 'one', transport });
    await peer.handshake();
    await peer.ask('resources/subscribe', { uri: 'a:b' });
    reading.resourceUpdated('a:b');
    expect((await peer.notification('notifications/resources/updated')).params).toEqual({
      uri: 'a:b',
    });
    host.stop();
  });

  test('are distinguished from other actors by sessionOf', () => {
    const host = createActor(spawning);
    expect(() => sessionOf(host)).toThrow(
      /must be a session: pass an actor that was invoked or spawned/,
    );
  });
});

test('reports a session whose transport throws as closed', async () => {
  const failure = new Error('no line');
  const transport = () => {
    throw failure;
  };
  const actor = createActor(server.sessionLogic, { input: { transport } });
  actor.subscribe({ error: () => {} });
  actor.start();
  const session = sessionOf(actor);
  expect(session.state).toBe('closed');
  expect(await session.closed).toEqual({ kind: 'failure', error: failure });
  expect(session.dump()).toMatchObject({ state: 'closed', tags: ['closed'], calls: [] });
  expect(session.elicitationCompleted('none')).toBe(false);
  await expect(session.ping()).rejects.toMatchObject({ code: 'TRANSPORT_CLOSED' });
  const states: string[] = [];
  session.state$.subscribe((state) => states.push(state));
  expect(states).toEqual(['closed']);
});
