/** Whatever comes in whatever order: what was recorded replays without a difference. */
import { defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { cancelled, gate, request, rootsChanged, toolCall, flush } from 'mcp-actors/testing';
import type { Gate } from 'mcp-actors/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { echo, tool } from '../../../test/contract/serving.ts';
import { expectSame, recordedSession } from './recorded-session.ts';

type Step =
  | { readonly kind: 'call'; readonly tool: 'echo' | 'hold' | 'ask' | 'roots' | 'task' }
  | { readonly kind: 'cancel' | 'answer' | 'fail' | 'duplicate'; readonly nth: number }
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'release' | 'changed' | 'turn' | 'microtask' | 'rubbish' | 'ping' | 'tasks' };

const nth = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('call' as const),
    tool: fc.constantFrom(
      'echo' as const,
      'hold' as const,
      'ask' as const,
      'roots' as const,
      'task' as const,
    ),
  }),
  fc.record({
    kind: fc.constantFrom(
      'cancel' as const,
      'answer' as const,
      'fail' as const,
      'duplicate' as const,
    ),
    nth,
  }),
  fc.record({
    kind: fc.constant('time' as const),
    ms: fc.constantFrom(1, 200, 5000, 31_000, 700_000),
  }),
  fc.record({
    kind: fc.constantFrom(
      'release' as const,
      'changed' as const,
      'turn' as const,
      'microtask' as const,
      'rubbish' as const,
      'ping' as const,
      'tasks' as const,
    ),
  }),
);

function tools({ pass }: Gate) {
  const form = { type: 'object', properties: { name: { type: 'string' } } };
  return [
    echo,
    tool('hold', async (_, { signal, progress }) => {
      progress(1);
      await pass(signal);
      return 'passed';
    }),
    tool('ask', async (_, { elicit }) =>
      JSON.stringify(await elicit({ message: '?', schema: form as never })),
    ),
    tool('roots', async (_, context) => JSON.stringify(await context.roots())),
    defineTool({
      name: 'task',
      description: 'A task',
      inputSchema: { type: 'object' },
      taskSupport: 'optional',
      handler: async (_, { elicit, signal }) => {
        await pass(signal);
        await elicit({ message: '?', schema: form as never });
        return 'done';
      },
    }),
  ];
}

async function run(steps: readonly Step[]) {
  const held = gate();
  const resolveRoots = async (list: readonly { readonly uri: string }[]) => {
    await flush();
    return list;
  };
  const { peer, clock, finish } = recordedSession(
    { name: 'random', version: '1', tools: tools(held), resolveRoots },
    { limits: { maxRunning: 3, maxWaiting: 3, keepaliveIntervalMs: 20_000, drainTimeoutMs: 50 } },
  );
  await peer.handshake({ capabilities: { roots: { listChanged: true }, elicitation: {} } });
  let id = 100;
  const asked = () =>
    peer.received.filter(
      (frame): frame is JsonObject & { readonly id: string } =>
        typeof frame === 'object' && frame !== null && 'method' in frame && 'id' in frame,
    );
  const answerTo = (method: unknown): JsonObject =>
    method === 'roots/list' ? { roots: [{ uri: 'file:///a' }] } : { action: 'decline' };
  for (const each of steps) {
    // Each chunk of input and each timer has a turn of its own, as in a process. Only a handler goes on within one.
    if (each.kind !== 'release' && each.kind !== 'microtask') await flush();
    switch (each.kind) {
      case 'call':
        peer.send(
          each.tool === 'task'
            ? request(++id, 'tools/call', { name: 'task', arguments: {}, task: {} })
            : toolCall(++id, each.tool, {}, { progressToken: id }),
        );
        break;
      case 'cancel':
        peer.send(cancelled(id - each.nth));
        break;
      case 'answer':
      case 'duplicate':
      case 'fail': {
        const question = asked().at(-1 - each.nth);
        if (!question) break;
        const reply =
          each.kind === 'fail'
            ? { error: { code: -32601, message: 'no' } }
            : { result: answerTo(question['method']) };
        const frame = { jsonrpc: '2.0', id: question.id, ...reply };
        peer.send(...(each.kind === 'duplicate' ? [frame, frame] : [frame]));
        break;
      }
      case 'time':
        clock.increment(each.ms);
        break;
      case 'release':
        held.release(1);
        break;
      case 'changed':
        peer.send(rootsChanged);
        break;
      case 'turn':
        await flush();
        break;
      case 'microtask':
        await Promise.resolve();
        break;
      case 'rubbish':
        peer.sendRaw('{"jsonrpc":"2.0","id":{}}\n');
        break;
      case 'ping':
        peer.send(request(++id, 'ping'));
        break;
      case 'tasks':
        peer.send(request(++id, 'tasks/list'));
        break;
    }
  }
  await flush();
  held.release();
  await flush();
  const finished = finish();
  await flush();
  clock.increment(50);
  return finished;
}

test('replays a session of random events as recorded', async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { outputs } = await expectSame(await run(steps));
      compared += outputs;
    }),
    { numRuns: 25 },
  );
  expect(compared).toBeGreaterThan(300);
});
