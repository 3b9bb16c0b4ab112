/** What a host hears of its connection, and what it is refused. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { connect, connectionLogic, connectionOf } from 'mcp-actors/client';
import type {
  ConnectOptions,
  Connection,
  ConnectionEvent,
  WatchedConnection,
} from 'mcp-actors/client';
import { recordConnection } from 'mcp-actors/recording';
import { TestClock, flush } from 'mcp-actors/testing';
import type { Observable } from 'rxjs';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  EventLog,
  connectionStreams,
  stateValueOf,
} from '../src/connection/connection-streams.observable.ts';
import type { ConnectionStreamSource } from '../src/connection/connection-streams.observable.ts';
import type { SdkTransport } from '../../../src/transports/sdk-transport.ts';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';
import { createActor } from 'xstate';
import { ScriptedTransport, scriptedConnection } from './scripted-transport.ts';

const server = createMcpServer({
  name: 'ours',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'ask',
      description: 'Asks, and forgets the question',
      handler: async (_args, context) => {
        const signal = AbortSignal.abort('changed my mind');
        const controller = new AbortController();
        const asked = context.request('elicitation/create', form, { signal: controller.signal });
        asked.catch(() => {});
        await context.request('ping');
        controller.abort(signal.reason);
        return 'done';
      },
    }),
  ],
});
const form = {
  message: 'Well?',
  requestedSchema: { type: 'object', properties: { yes: { type: 'boolean' } } },
};

async function connected(options: ConnectOptions = {}): Promise<Connection> {
  const transport = () => {
    const { transport: ours, peer } = memory();
    server.listen(ours, { report: () => {} });
    return toSdkTransport(peer);
  };
  const connection = await connect({ transport }, { report: () => {}, ...options });
  onTestFinished(() => connection.close());
  return connection;
}

describe('the states of a connection', () => {
  test('begin with the present one, and complete when it is closed', async () => {
    const connection = await connected();
    const heard: string[] = [];
    connection.state$.subscribe({
      next: ({ value }) => heard.push(value),
      complete: () => heard.push('(complete)'),
    });
    expect(heard).toEqual(['ready']);
    await connection.close();
    expect(heard).toEqual(['ready', 'closing', 'closed', '(complete)']);
  });

  test.each([
    [{ connecting: { timed: 'opening' } }, 'connecting'],
    [{ ready: 'fresh' }, 'ready'],
    [{ lost: 'clearing' }, 'lost'],
    ['backoff', 'backoff'],
    ['failed', 'failed'],
    ['stopping', 'closing'],
    ['closed', 'closed'],
    ['ended', 'closed'],
  ])('are those of its machine: %j is %s', (value, shown) => {
    expect(stateValueOf({ value, status: 'active' } as never)).toBe(shown);
    expect(stateValueOf({ value, status: 'error' } as never)).toBe('closed');
  });

  test('go through connecting when the host asks for a new connection', async () => {
    const connection = await connected();
    const heard: string[] = [];
    connection.state$.subscribe(({ value }) => heard.push(value));
    await connection.reconnect();
    expect(heard).toEqual(['ready', 'connecting', 'ready']);
    expect(connection.launches).toBe(2);
  });
});

describe('the streams of a connection', () => {
  /** Who listens to what. */
  function streams(status = 'active') {
    const listening = { actor: [] as unknown[], state: 0, events: 0, traffic: [] as unknown[] };
    const source = {
      actor: {
        getSnapshot: () => ({ status }),
        subscribe: (observer: unknown) => {
          listening.actor.push(observer);
          return {
            unsubscribe: () => void listening.actor.splice(listening.actor.indexOf(observer), 1),
          };
        },
      },
      state: () => ({ value: 'ready' }),
      events: {
        listen: () => {
          listening.events++;
          return () => void listening.events--;
        },
      },
      traffic: {
        listen: (listener: unknown) => {
          listening.traffic.push(listener);
          return () => void listening.traffic.pop();
        },
      },
      clock: { now: () => 7 },
      guard: (act: () => void) => act(),
    } as unknown as ConnectionStreamSource;
    return { ...connectionStreams(source), listening };
  }
  type End = { readonly error: () => void; readonly complete?: () => void };

  test.each(['error', 'complete'] as const)(
    'complete when its actor ends, whichever way (%s), and listen to nothing from then on',
    (end) => {
      const { events$, traffic$, state$, listening } = streams();
      const ended: string[] = [];
      const all: { readonly [name: string]: Observable<unknown> } = { events$, traffic$, state$ };
      const subscriptions = Object.entries(all).map(([name, stream$]) =>
        stream$.subscribe({ complete: () => ended.push(name) }),
      );
      expect([listening.events, listening.traffic.length]).toEqual([1, 1]);
      for (const each of [...listening.actor] as End[]) if (typeof each === 'object') each[end]?.();
      expect(ended).toEqual(['events$', 'traffic$', 'state$']);
      expect(listening).toEqual({ actor: [], state: 0, events: 0, traffic: [] });
      const again = events$.subscribe();
      again.unsubscribe();
      expect(listening).toEqual({ actor: [], state: 0, events: 0, traffic: [] });
      for (const each of subscriptions) expect(each.closed).toBe(true);
    },
  );

  test('of one that has ended are complete at once, though nobody says so again', () => {
    const { events$, listening } = streams('stopped');
    let isComplete = false;
    events$.subscribe({ complete: () => (isComplete = true) });
    expect([isComplete, listening.events]).toEqual([true, 0]);
  });

  test('have each message, with its time', () => {
    const { traffic$, listening } = streams();
    const heard: unknown[] = [];
    traffic$.subscribe(({ at, direction, method }) => heard.push([at, direction, method]));
    const [listener] = listening.traffic as {
      [way in 'received' | 'sent']: (f: unknown) => void;
    }[];
    listener?.received([{ kind: 'notification', method: 'notifications/a' }]);
    listener?.sent([{ jsonrpc: '2.0', method: 'notifications/b' }]);
    expect(heard).toEqual([
      [7, 'in', 'notifications/a'],
      [7, 'out', 'notifications/b'],
    ]);
  });
});

describe('the events of a connection', () => {
  test('say what the server asks, and that it does not want the answer any more', async () => {
    const connection = await connected({
      era: 'legacy',
      elicit: (_form, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('withdrawn')));
        }),
    });
    const heard: ConnectionEvent[] = [];
    connection.events$.subscribe((event) => heard.push(event));
    await connection.callTool('ask');
    await connection.ping();
    const method = 'elicitation/create';
    expect(heard.filter(({ type }) => type !== 'state')).toEqual([
      { type: 'asked', method, params: form },
      { type: 'withdrawn', method },
    ]);
  });

  test('have the notifications of the server, unless the host takes them itself', async () => {
    const taken: unknown[] = [];
    const heard: ConnectionEvent[] = [];
    const both = [{}, { onNotification: (...of: unknown[]) => taken.push(of) }];
    for (const options of both) {
      const { connection, servers } = scriptedConnection(undefined, options);
      connection.events$.subscribe((event) => event.type === 'notification' && heard.push(event));
      await connection.ready();
      servers[0]?.say({ method: 'notifications/message', params: { data: 1 } });
      await connection.ready();
      servers[0]?.say({ method: 'notifications/message', params: { data: 2 } });
      await flush();
    }
    const [one, other] = [{ data: 1 }, { data: 2 }];
    const method = 'notifications/message';
    const told = [one, other].map((params) => ({ type: 'notification', method, params }));
    expect(heard).toEqual(told);
    expect(taken).toEqual([one, other].map((params) => [method, params]));
  });

  test('are kept for the first listener, up to a bound, and what was dropped is told', () => {
    const log = new EventLog(2, () => {});
    for (const text of ['a', 'b', 'c', 'd']) log.tell({ type: 'stderr', text });
    const heard: ConnectionEvent[] = [];
    log.listen((event) => heard.push(event));
    log.tell({ type: 'stderr', text: 'e' });
    const late: ConnectionEvent[] = [];
    log.listen((event) => late.push(event));
    expect(heard).toEqual([
      { type: 'stderr', text: 'c' },
      { type: 'stderr', text: 'd' },
      {
        ...{ type: 'problem', name: 'events.dropped', count: 1 },
        message: '2 events before the first listener were dropped',
      },
      { type: 'stderr', text: 'e' },
    ]);
    expect(late).toEqual([]);
  });

  test('count what the server does wrong by its name', () => {
    const log = new EventLog(10, () => {});
    const heard: unknown[] = [];
    log.listen((event) => heard.push(event));
    log.problem('frame.invalid', 'a');
    log.problem('frame.invalid', 'b');
    log.problem('response.unknown', 'c');
    expect(heard).toMatchObject([{ count: 1 }, { count: 2 }, { count: 1 }]);
  });
});

describe('a host', () => {
  test('that watches a connection has its id, its messages, its transitions and its end', async () => {
    const watched: WatchedConnection[] = [];
    const [messages, machines]: [string[], string[]] = [[], []];
    const { connection } = scriptedConnection(undefined, {
      watchers: [
        (each) => {
          watched.push(each);
          each.traffic.listen({ sent: () => messages.push('sent'), received: () => {} });
          each.transitions.listen(({ machine }) => machines.push(machine));
        },
      ],
    });
    await connection.ready();
    expect(watched).toMatchObject([{ side: 'host', id: connection.dump().id }]);
    expect(watched[0]?.dump()).toMatchObject({ id: watched[0]?.id, state: 'ready.fresh' });
    expect(messages).toContain('sent');
    expect(machines).toContain('connection');
    await connection.close();
    expect(await watched[0]?.closed).toBeUndefined();
  });

  test('that watches hears of a bug that has ended the connection', async () => {
    let closed: Promise<Error | undefined> | undefined;
    const { connection, servers } = scriptedConnection(undefined, {
      restart: { initialMs: 1, jitter: 1 },
      watchers: [(watched) => (closed = watched.closed)],
      random: () => {
        throw new Error('no dice');
      },
    });
    await connection.ready();
    servers[0]?.onclose?.();
    expect((await closed)?.message).toContain('no dice');
    expect(connection.state).toMatchObject({ value: 'closed', loss: { kind: 'failure' } });
  });

  test('closes a connection by a signal, that has been aborted before too', async () => {
    const controller = new AbortController();
    const { connection, servers } = scriptedConnection(undefined, { signal: controller.signal });
    await connection.ready();
    controller.abort();
    await connection.close();
    expect(connection.state.value).toBe('closed');
    const unopened = scriptedConnection(undefined, { signal: controller.signal });
    await unopened.connection.close();
    expect([servers, unopened.servers]).toEqual([[expect.any(ScriptedTransport)], []]);
    await expect(unopened.connection.ready()).rejects.toMatchObject({ code: 'NOT_READY' });
  });

  test('that stops its actor leaves no request without an end', async () => {
    const input = { entry: { transport: () => new ScriptedTransport(() => 'never') } };
    const actor = createActor(connectionLogic, { input });
    actor.start();
    const asked = connectionOf(actor).request('ping');
    actor.stop();
    await expect(asked).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(connectionOf(actor).request('ping')).rejects.toBeInstanceOf(Error);
  });

  test('that does not wait any longer hears why', async () => {
    const { connection } = scriptedConnection(() => 'never');
    const controller = new AbortController();
    const ready = connection.ready({ signal: controller.signal });
    controller.abort('enough');
    await expect(ready).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  });

  test('has what is known of the tools at once, and no words of a server without a process', async () => {
    const connection = await connected();
    const reports: unknown[] = [];
    connection.tools$.subscribe((report) => reports.push(report));
    expect(reports).toMatchObject([{ state: 'asking', items: [] }]);
    expect(connection.stderr).toEqual({ text: '', bytes: 0 });
  });
});

test('a host hears that a person is done with a URL that the server has named', async () => {
  let wait: Promise<void> = Promise.resolve();
  const url = (_: unknown, { completed }: { readonly completed: Promise<void> }) => {
    wait = completed;
    return 'accept' as const;
  };
  const { connection, servers } = scriptedConnection(undefined, { elicit: { url } });
  await connection.ready();
  const asked = { mode: 'url', message: 'Pay', url: 'https://example.com', elicitationId: 'e' };
  servers[0]?.say({ id: 'q', method: 'elicitation/create', params: asked });
  await expect.poll(() => servers[0]?.sent.at(-1)).toMatchObject({ id: 'q', result: {} });
  const params = { elicitationId: 'e' };
  servers[0]?.say({ method: 'notifications/elicitation/complete', params });
  await wait;
});

test.each(['legacy', 'modern'] as const)(
  'a server of the %s era is told of other roots if it has to ask for them',
  async (era) => {
    const discovered = {
      ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
      ...{ supportedVersions: ['2026-07-28'], capabilities: {} },
    };
    const { connection, servers } = scriptedConnection(
      ({ method }) => (method === 'server/discover' ? discovered : undefined),
      { era, roots: [] },
    );
    await connection.ready();
    await connection.setRoots([{ uri: 'file:///a' }]);
    await flush();
    const told = servers[0]?.methods().includes('notifications/roots/list_changed');
    expect(told).toBe(era === 'legacy');
  },
);

test('an answer that belongs to nothing and is none is not answered', async () => {
  const { connection, servers } = scriptedConnection();
  const problems: string[] = [];
  connection.events$.subscribe((event) => event.type === 'problem' && problems.push(event.name));
  await connection.ready();
  servers[0]?.say({ id: 99, result: {}, error: {} });
  await flush();
  expect(problems).toEqual(['response.unknown']);
  expect(servers[0]?.methods()).toEqual(['initialize', 'notifications/initialized']);
});

describe('a host is refused', () => {
  test('a connection of its own machine that is recorded, or restored', async () => {
    const failureOf = async (options: Parameters<typeof createActor>[1]) => {
      const actor = createActor(connectionLogic, options as never);
      const failed = new Promise((resolve) => {
        actor.subscribe({ error: resolve });
      });
      actor.start();
      return ((await failed) as Error).message;
    };
    const entry = { transport: () => new ScriptedTransport() };
    const input = { entry, record: recordConnection({} as never) };
    expect(await failureOf({ input } as never)).toMatch(/^Recording needs a connection/);
    const snapshot = { status: 'active' };
    expect(await failureOf({ snapshot } as never)).toMatch(/cannot be restored from a snapshot/);
  });

  test('what its server does not declare', async () => {
    const connection = await connected();
    await expect(connection.readResource('a:b')).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
      message: expect.stringContaining('resources') as string,
    });
    await expect(connection.setLogLevel('debug')).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
    });
  });

  test('roots, if it was connected without any', async () => {
    const connection = await connected();
    await expect(connection.setRoots([{ uri: 'file:///tmp' }])).rejects.toMatchObject({
      code: 'CAPABILITY_MISSING',
    });
  });

  test('limits and entries that are none', async () => {
    await expect(connected({ limits: { maxPendng: 1 } as never })).rejects.toThrow(/maxPendng/);
    await expect(connected({ era: 'modrn' as never })).rejects.toThrow(/era.*modrn/);
    await expect(connect({} as never)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('must have "command", "url" or "transport"') as string,
    });
  });

  test.each<[string, (close: () => void) => Promise<void>, RegExp]>([
    ['cannot be started', () => Promise.reject(new Error('no port')), /no port/],
    [
      'closes while it starts',
      (close) => {
        close();
        return new Promise(() => {});
      },
      /has closed its output/,
    ],
  ])('a transport of its own that %s, with what it says', async (_, start, message) => {
    const transport = () => {
      const own: SdkTransport = {
        start: () => start(() => own.onclose?.()),
        send: () => Promise.resolve(),
        close: () => Promise.resolve(),
      };
      return own;
    };
    const options = { report: () => {}, restart: 'none' } as const;
    await expect(connect({ transport }, options)).rejects.toThrow(message);
  });

  test('a server that cannot be reached at first, and nothing is left of it', async () => {
    const clock = new TestClock();
    let made = 0;
    const transport = () => {
      made++;
      throw new Error('none left');
    };
    await expect(connect({ transport }, { clock, report: () => {} })).rejects.toThrow('none left');
    expect(clock.liveTimers).toBe(0);
    clock.increment(60_000);
    expect(made).toBe(1);
  });

  test('a connection that it does not want any more, and nothing is left of it', async () => {
    const controller = new AbortController();
    const calls: string[] = [];
    const transport: SdkTransport = {
      start: () => Promise.resolve(),
      send: () => {
        calls.push('send');
        controller.abort('enough');
        return Promise.resolve();
      },
      close: () => {
        calls.push('close');
        return Promise.resolve();
      },
    };
    const options = { report: () => {}, signal: controller.signal } as const;
    await expect(connect({ transport }, options)).rejects.toMatchObject({
      code: 'CANCELLED',
      cause: 'enough',
    });
    expect(calls.slice(0, 2)).toEqual(['send', 'close']);
  });

  test('a wait that it has ended itself', async () => {
    const connection = await connected();
    await connection.close();
    await expect(connection.ready()).rejects.toMatchObject({ code: 'NOT_READY' });
  });
});
