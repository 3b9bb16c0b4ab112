/** Both eras on one connection, in any order: whoever sends what, each request is answered once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMcpServer, defineTool } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { scriptedConversation, flush } from '../../packages/testing/src/index.ts';

const key = (name: string) => `io.modelcontextprotocol/${name}`;

const envelopes = {
  bare: undefined,
  modern: {
    [key('protocolVersion')]: '2026-07-28',
    [key('clientCapabilities')]: { elicitation: {} },
  },
  unknown: { [key('protocolVersion')]: '2031-01-01', [key('clientCapabilities')]: {} },
  legacyVersion: { [key('protocolVersion')]: '2025-11-25', [key('clientCapabilities')]: {} },
  half: { [key('clientCapabilities')]: {} },
  wrong: { [key('protocolVersion')]: 7, [key('clientCapabilities')]: [] },
  proto: JSON.parse(
    '{"__proto__":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}',
  ) as JsonObject,
} as const;

const initialize = {
  protocolVersion: '2025-11-25',
  // It declares nothing that it could be asked.
  capabilities: {},
  clientInfo: { name: 'peer', version: '1' },
};

const requests: readonly (readonly [method: string, params: JsonObject])[] = [
  ['initialize', initialize],
  ['server/discover', {}],
  ['ping', {}],
  ['tools/list', {}],
  ['tools/call', { name: 'echo', arguments: {} }],
  ['tools/call', { name: 'asks', arguments: {} }],
  ['tools/call', { name: '__proto__', arguments: {} }],
  ['constructor', {}],
  ['resources/read', { uri: 'nothing:here' }],
  ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
  ['subscriptions/listen', { notifications: { resourceSubscriptions: [7] } }],
];

/** The call that ends with a question. */
const asks = requests.findIndex(([, { name }]) => name === 'asks');

type Step =
  | {
      readonly kind: 'request';
      readonly which: number;
      readonly as: keyof typeof envelopes;
      readonly id: 'new' | 'used' | 'text';
    }
  | { readonly kind: 'retry'; readonly answer: JsonObject; readonly as: 'bare' | 'modern' }
  | { readonly kind: 'cancel' | 'initialized' | 'turn' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      which: fc.oneof(fc.constant(asks), fc.nat(requests.length - 1)),
      as: fc.oneof(
        { weight: 6, arbitrary: fc.constant('modern' as const) },
        { weight: 2, arbitrary: fc.constant('bare' as const) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(...(Object.keys(envelopes) as (keyof typeof envelopes)[])),
        },
      ),
      id: fc.constantFrom('new' as const, 'used' as const, 'text' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('retry' as const),
      answer: fc.constantFrom<JsonObject>(
        { action: 'accept', content: { name: 'Ada' } },
        { action: 'decline' },
        { action: 'maybe' },
      ),
      as: fc.constantFrom('bare' as const, 'modern' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('cancel' as const, 'initialized' as const, 'turn' as const),
    }),
  },
);

const server = createMcpServer({
  name: 'both',
  version: '1',
  tools: [
    defineTool({ name: 'echo', description: 'Echoes.', handler: () => 'echo' }),
    defineTool({
      name: 'asks',
      description: 'Asks.',
      handler: async (_, context) => {
        const { action } = await context.elicit({
          message: 'Who?',
          schema: { type: 'object', properties: { name: { type: 'string' } } },
        });
        return action;
      },
    }),
  ],
});

/** Plays the steps, and says what was answered how often. */
async function play(steps: readonly Step[]) {
  const { peer, session } = scriptedConversation(server);
  const sent: unknown[] = [];
  const cancelled = new Set<unknown>();
  let ids = 0;
  const states = () =>
    (peer.received as readonly JsonObject[]).flatMap(({ result }) => {
      const state = (result as JsonObject | undefined)?.['requestState'];
      return typeof state === 'string' ? [state] : [];
    });
  const answered = () => {
    const counts = new Map<unknown, number>();
    for (const { id, method } of peer.received as readonly JsonObject[]) {
      if (method === undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };
  const send = (id: unknown, method: string, params: JsonObject, as: keyof typeof envelopes) => {
    const meta = envelopes[as];
    sent.push(id);
    peer.send({ jsonrpc: '2.0', id, method, params: meta ? { ...params, _meta: meta } : params });
  };
  for (const each of steps) {
    if (each.kind === 'request') {
      const [method, params] = requests[each.which]!;
      const free = sent.find(
        (id) => answered().get(id) === sent.filter((other) => other === id).length,
      );
      const id =
        each.id === 'used' && free !== undefined ? free : each.id === 'text' ? `${++ids}` : ++ids;
      if (cancelled.has(id)) continue;
      send(id, method, params, each.as);
    } else if (each.kind === 'retry') {
      const params = { name: 'asks', arguments: {}, inputResponses: { q1: each.answer } };
      const state = states().at(-1);
      if (state) send(++ids, 'tools/call', { ...params, requestState: state }, each.as);
    } else if (each.kind === 'cancel') {
      const id = sent.at(-1);
      if (id === undefined) continue;
      cancelled.add(id);
      peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    } else if (each.kind === 'initialized') {
      peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    } else await flush();
  }
  session.shutdown('all is played');
  await session.closed;
  await flush();
  const received = peer.received as readonly JsonObject[];
  return {
    sent,
    cancelled,
    answered: answered(),
    asked: received.filter((message) => 'method' in message && 'id' in message),
  };
}

test('answers each request exactly once, cancelled ones at most once, and sends no requests, in any order of eras', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }),
      async (steps) => {
        const { sent, cancelled, answered, asked } = await play(steps);
        expect(asked).toEqual([]);
        for (const id of new Set(sent)) {
          const times = sent.filter((other) => other === id).length;
          const got = answered.get(id) ?? 0;
          if (cancelled.has(id)) expect(got).toBeLessThanOrEqual(times);
          else expect([id, got]).toEqual([id, times]);
        }
        expect([...answered.keys()].filter((id) => !sent.includes(id))).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});
