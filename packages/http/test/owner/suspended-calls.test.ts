/**
 * Suspended calls of 2026-07-28 that only one process can resume, while any node accepts the retry.
 */
import { describe, expect, test } from 'vitest';
import { defineTool } from 'mcp-actors';
import type { JsonObject, Tool } from 'mcp-actors';
import { TestClock } from 'mcp-actors/testing';
import type { HttpOptions } from '../../src/index.ts';
import { ask, callTool, request } from '../modern/modern-client.ts';
import type { Answer, ModernRequestOptions } from '../modern/modern-client.ts';
import { startNodes } from './nodes.ts';
import type { TestNode } from './nodes.ts';

/** Nodes and tools of started handlers, in order. */
type Begun = (readonly [node: number, tool: string])[];

const asking = { capabilities: { elicitation: { form: {} } } } satisfies ModernRequestOptions;

/** Nodes whose tool requests input twice. */
async function serve(
  resumption: Pick<Tool, 'replay' | 'singleUse'>,
  options: Pick<HttpOptions, 'authorization' | 'clock'> = {},
) {
  const begun: Begun = [];
  let count = 0;
  const definition = () => {
    const node = count++;
    const tool = defineTool({
      name: 'ask',
      description: 'Asks twice',
      ...resumption,
      handler: async (_, { elicit }) => {
        begun.push([node, 'ask']);
        const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
        const answers = [
          await elicit({ message: 'First?', schema }),
          await elicit({ message: 'Second?', schema }),
        ];
        return JSON.stringify([
          node,
          ...answers.map((answer) => 'content' in answer && answer.content),
        ]);
      },
    });
    return { name: 'asking', tools: [tool] };
  };
  const { clock } = options;
  const silent = { report: () => {} };
  const all = { ...options, ...silent, session: silent };
  const nodes = await startNodes(3, definition, clock ? { clock } : {}, all);
  return { nodes: nodes as [TestNode, TestNode, TestNode], begun };
}

/** Parameters of a client's retry. */
function answered({ result }: Answer, name: string): JsonObject {
  expect(result?.['resultType']).toBe('input_required');
  const { inputRequests, requestState } = result as {
    readonly inputRequests: object;
    readonly requestState: string;
  };
  const [key = ''] = Object.keys(inputRequests);
  return { inputResponses: { [key]: { action: 'accept', content: { name } } }, requestState };
}

const call = ({ url }: TestNode, as: ModernRequestOptions = {}) =>
  callTool(url, 'ask', {}, { ...asking, ...as });

/** Retries at this node. */
const retry = ({ url }: TestNode, brought: JsonObject, as: ModernRequestOptions = {}) =>
  ask(url, 'tools/call', { name: 'ask', arguments: {}, ...brought }, { ...asking, ...as });

/** Retries and returns the status, too. */
const post = ({ url }: TestNode, brought: JsonObject) =>
  request(url, 'tools/call', { name: 'ask', arguments: {}, ...brought }, asking);

const text = ({ result }: Answer) =>
  (result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? '';

describe('a suspended call bound to its process', () => {
  test.each([{ replay: false }, { singleUse: true }])(
    'resumes there, at whichever node its answers arrive: %j',
    async (resumption) => {
      const { nodes, begun } = await serve(resumption);
      const [a, b, c] = nodes;
      const second = await retry(b, answered(await call(a), 'Ada'));
      expect(text(await retry(c, answered(second, 'Bob')))).toBe(
        JSON.stringify([0, { name: 'Ada' }, { name: 'Bob' }]),
      );
      expect(begun).toEqual([[0, 'ask']]);
    },
  );

  test('asks for a new call once its node has died, and does not run elsewhere', async () => {
    const { nodes, begun } = await serve({ replay: false });
    const [a, b, c] = nodes;
    const brought = answered(await call(a), 'Ada');
    a.kill();
    for (const node of [b, c, b]) {
      const { result } = await retry(node, brought);
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result)).toContain('NOT_RESUMABLE');
    }
    expect(begun).toEqual([[0, 'ask']]);
  });

  test('is rejected as single-use once its node has died', async () => {
    const { nodes, begun } = await serve({ singleUse: true });
    const [a, b] = nodes;
    const brought = answered(await call(a), 'Ada');
    a.kill();
    expect((await retry(b, brought)).error).toMatchObject({ code: -32602 });
    expect(begun).toEqual([[0, 'ask']]);
  });

  test('resumes once, though its answers arrive at all nodes simultaneously', async () => {
    const { nodes, begun } = await serve({ replay: false });
    const brought = answered(await call(nodes[0]), 'Ada');
    const asked = await Promise.all([...nodes, ...nodes].map((node) => retry(node, brought)));
    const states = new Set(asked.map(({ result }) => result?.['requestState']));
    expect(states.size).toBe(1);
    expect(begun).toEqual([[0, 'ask']]);
  });

  test('belongs to its principal, at whichever node its state arrives', async () => {
    const verifyToken = (subject: string) =>
      ['ada', 'bob'].includes(subject) ? { subject } : undefined;
    const { nodes, begun } = await serve({ replay: false }, { authorization: { verifyToken } });
    const [a, b] = nodes;
    const as = (person: string) => ({ headers: { authorization: `Bearer ${person}` } });
    const brought = answered(await call(a, as('ada')), 'Ada');
    for (const node of nodes) {
      expect((await retry(node, brought, as('bob'))).error).toMatchObject({ code: -32602 });
    }
    expect(answered(await retry(b, brought, as('ada')), 'Ada')).toBeDefined();
    expect(begun).toEqual([[0, 'ask']]);
  });

  test('waits for its node to restore itself after the store lost its data', async () => {
    const clock = new TestClock();
    const { nodes, begun } = await serve({ replay: false }, { clock });
    const [a, b] = nodes;
    const brought = answered(await call(a), 'Ada');
    a.shared.lose();
    const early = await post(b, brought);
    expect(early.status).toBe(503);
    expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await early.json()) as object).toMatchObject({
      error: { message: expect.stringContaining('the node of the call may rejoin') },
    });
    // Its next lease renewal.
    clock.increment(2500);
    await expect.poll(async () => (await post(b, brought)).status, { timeout: 60_000 }).toBe(200);
    expect(begun).toEqual([[0, 'ask']]);
  });

  test('is rejected if no node has the name in its state', async () => {
    const { nodes, begun } = await serve({ replay: false });
    const { requestState, ...brought } = answered(await call(nodes[0]), 'Ada');
    const [, ...rest] = String(requestState).split('.');
    const names = ['', 'a'.repeat(20), '*', 'a}:b', 'é', 20, null, 'x'.repeat(10_000)];
    for (const node of names) {
      const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', node }));
      const forged = [header.toString('base64url'), ...rest].join('.');
      const { error } = await retry(nodes[1], { ...brought, requestState: forged });
      expect(error, String(node)).toMatchObject({ code: -32602 });
    }
    expect(begun).toHaveLength(1);
  });
});

test('resumes a restartable call at the node where its answers arrive', async () => {
  const { nodes, begun } = await serve({});
  const [a, b, c] = nodes;
  const second = await retry(b, answered(await call(a), 'Ada'));
  expect(text(await retry(c, answered(second, 'Bob')))).toContain('[2,');
  expect(begun.map(([node]) => node)).toEqual([0, 1, 2]);
});
