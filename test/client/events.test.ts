/** What a host hears of its connection, and what it is refused. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ConnectionEvent } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EventLog } from '../../src/client/connection/connection-streams.observable.ts';
import type { SdkTransport } from '../../src/transports/sdk-transport.ts';
import { toSdkTransport } from '../../src/transports/to-sdk-transport.ts';

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

  test('go through connecting when the host asks for a new connection', async () => {
    const connection = await connected();
    const heard: string[] = [];
    connection.state$.subscribe(({ value }) => heard.push(value));
    await connection.reconnect();
    expect(heard).toEqual(['ready', 'connecting', 'ready']);
    expect(connection.launches).toBe(2);
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
    const heard: ConnectionEvent['type'][] = [];
    connection.events$.subscribe(({ type }) => heard.push(type));
    await connection.callTool('ask');
    await connection.ping();
    expect(heard.filter((type) => type !== 'state')).toEqual(['asked', 'withdrawn']);
  });

  test('are kept for the first listener, up to a bound, and what was dropped is told', () => {
    const log = new EventLog(2, () => {});
    for (const text of ['a', 'b', 'c']) log.tell({ type: 'stderr', text });
    const heard: ConnectionEvent[] = [];
    log.listen((event) => heard.push(event));
    log.tell({ type: 'stderr', text: 'd' });
    expect(heard).toEqual([
      { type: 'stderr', text: 'b' },
      { type: 'stderr', text: 'c' },
      expect.objectContaining({ type: 'problem', name: 'events.dropped', count: 1 }),
      { type: 'stderr', text: 'd' },
    ]);
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

describe('a host is refused', () => {
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
    await expect(connect({} as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
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

  test('a wait that it has ended itself', async () => {
    const connection = await connected();
    await connection.close();
    await expect(connection.ready()).rejects.toMatchObject({ code: 'NOT_READY' });
  });
});
