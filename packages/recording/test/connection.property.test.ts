/** Whatever a host does and whatever becomes of its server: the recorded connection replays without a difference. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import type { McpSession } from 'mcp-actors';
import { openConnection } from 'mcp-actors/client';
import { readRecording, recordConnection, replay } from 'mcp-actors/recording';
import { TestClock, gate, flush } from 'mcp-actors/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';

type Step =
  | { readonly kind: 'call'; readonly tool: 'echo' | 'wait' | 'order' | 'change' | 'none' }
  | { readonly kind: 'cancel'; readonly nth: number }
  | { readonly kind: 'time'; readonly ms: number }
  | {
      readonly kind:
        | ('release' | 'list' | 'refresh' | 'watch' | 'subscribe' | 'roots' | 'notify' | 'ping')
        | ('reconnect' | 'lose');
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      tool: fc.constantFrom('echo', 'wait', 'order', 'change', 'none'),
    }),
  },
  fc.record({ kind: fc.constant('cancel' as const), nth: fc.nat(4) }),
  fc.record({
    kind: fc.constant('time' as const),
    ms: fc.constantFrom(1, 10, 500, 31_000, 61_000),
  }),
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        ...([
          'release',
          'list',
          'refresh',
          'watch',
          'subscribe',
          'roots',
          'notify',
          'ping',
        ] as const),
        ...(['reconnect', 'lose'] as const),
      ),
    }),
  },
);

const more = defineTool({ name: 'more', description: 'More', handler: () => '' });

function world() {
  const held = gate();
  const server = createMcpServer({
    name: 'random',
    version: '1',
    tools: [
      defineTool({
        name: 'echo',
        description: 'Says something',
        handler: (_, { progress }) => {
          progress(1);
          return 'hi';
        },
      }),
      defineTool({
        name: 'wait',
        description: 'Waits',
        handler: async (_, { signal }) => {
          await held.pass(signal);
          return 'done';
        },
      }),
      defineTool({
        name: 'order',
        description: 'Asks',
        handler: async (_, { elicit }) => {
          const schema = { type: 'object', properties: { count: { type: 'integer' } } } as const;
          return JSON.stringify(await elicit({ message: 'How many?', schema }));
        },
      }),
      defineTool({
        name: 'change',
        description: 'Changes the tools',
        handler: () => {
          server.tools.add(more);
          server.tools.remove('more');
          return 'changed';
        },
      }),
    ],
  });
  const sessions: McpSession[] = [];
  const transport = () => {
    const { transport: ours, peer } = memory();
    sessions.push(server.listen(ours, { report: () => {} }));
    return toSdkTransport(peer);
  };
  return { held, sessions, transport };
}

/**
 * The text of a recording of a connection that these steps are taken on, each in a turn of its own.
 */
async function recorded(era: 'legacy' | 'modern', steps: readonly Step[]): Promise<string> {
  const { held, sessions, transport } = world();
  const clock = new TestClock();
  const lines: string[] = [];
  const record = recordConnection({ write: (text) => lines.push(text) });
  const connection = openConnection(
    { transport },
    {
      ...{ era, clock, record, roots: [], report: () => {} },
      restart: { initialMs: 10, maxMs: 500, maxAttempts: 3 },
      elicit: async () => {
        await flush();
        return { action: 'accept', content: { count: 3 } };
      },
    },
  );
  const cancels: AbortController[] = [];
  const ends: Promise<unknown>[] = [];
  const begin = (work: (options: { readonly signal: AbortSignal }) => Promise<unknown>): void => {
    const controller = new AbortController();
    cancels.push(controller);
    // How it ends is a line of the recording.
    ends.push(work(controller).catch(() => {}));
  };
  const take: { readonly [K in Step['kind']]: (each: Extract<Step, { kind: K }>) => unknown } = {
    call: ({ tool }) =>
      begin(({ signal }) =>
        connection.callTool(tool, {}, { signal, onProgress: () => {}, retry: 'reads' }),
      ),
    cancel: ({ nth }) => cancels.at(-1 - nth)?.abort('enough'),
    time: ({ ms }) => clock.increment(ms),
    release: () => held.release(1),
    list: () => begin(({ signal }) => connection.listTools({ signal })),
    refresh: () => begin(({ signal }) => connection.listTools({ signal, refresh: true })),
    watch: () => void connection.tools$.subscribe(),
    subscribe: () => begin(({ signal }) => connection.subscribe('a:b', { signal })),
    roots: () => begin(({ signal }) => connection.setRoots([{ uri: 'file:///a' }], { signal })),
    notify: () => begin(({ signal }) => connection.notify('notifications/any', {}, { signal })),
    ping: () => begin(({ signal }) => connection.ping({ signal, timeoutMs: 400 })),
    reconnect: () => begin(({ signal }) => connection.reconnect({ signal })),
    lose: () => void sessions.pop()?.[Symbol.asyncDispose](),
  };
  for (const each of steps) {
    take[each.kind](each as never);
    await flush();
  }
  held.release();
  await flush();
  const closed = connection.close();
  // A server that is deaf is not waited for longer than this.
  clock.increment(60_000);
  await closed;
  await Promise.all(ends);
  record.flush();
  return lines.join('');
}

test.each(['legacy', 'modern'] as const)(
  'replays a %s connection with random events as recorded',
  async (era) => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const text = await recorded(era, steps);
        const { difference, note, outputs } = await replay(readRecording(text, 'it.jsonl'));
        expect({ difference, note }).toEqual({ difference: undefined, note: undefined });
        compared += outputs;
      }),
      { numRuns: 30 },
    );
    expect(compared).toBeGreaterThan(300);
  },
);
