/** Tool of the lab that sends requests to the client. */
import { RuntimeError, defineTool } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';

/** Schema of a `roots/list` result; other results count as failures. */
const rootsResult = {
  type: 'object',
  properties: {
    roots: {
      type: 'array',
      items: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    },
  },
  required: ['roots'],
} as const;

/** One valid request of each kind. */
const questions = {
  roots: ({ request }) => request('roots/list', undefined, rootsResult, { probe: true }),
  sampling: ({ sample }) =>
    sample({
      messages: [{ role: 'user', content: 'Say hello to the laboratory.' }],
      maxTokens: 16,
    }),
  elicitation: ({ elicit }) =>
    elicit({
      message: 'The laboratory would like to know your name.',
      schema: { type: 'object', properties: { name: { type: 'string' } } },
    }),
} satisfies { readonly [kind: string]: (context: HandlerContext) => Promise<unknown> };

/** Reason for a failed request: our code, and the client's code if it responded with an error. */
interface Failure {
  readonly code: string;
  readonly remoteCode?: number;
  readonly count: number;
}

/**
 * Sends requests to the client and reports how many succeeded and how the others failed.
 * Independent of the era: since 2026-07-28, each request or all of them together form a round of
 * the call.
 */
export const ask = defineTool({
  name: 'ask',
  title: 'Ask the client',
  description:
    'Asks the client so many questions of a kind, one after the other or all at once, and says how many succeeded.',
  inputSchema: {
    type: 'object',
    properties: {
      kind: { enum: ['roots', 'sampling', 'elicitation'] },
      count: { type: 'integer', minimum: 1, maximum: 100_000 },
      concurrent: { type: 'boolean', description: 'All at once. By default one after the other.' },
    },
    required: ['kind', 'count'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      succeeded: { type: 'integer' },
      failed: { type: 'integer' },
      failures: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            code: { type: 'string' },
            remoteCode: { type: 'integer' },
            count: { type: 'integer' },
          },
          required: ['code', 'count'],
        },
      },
    },
    required: ['succeeded', 'failed', 'failures'],
  },
  handler: async ({ kind, count, concurrent }, context) => {
    const send = () => attempt(context, kind);
    const outcomes = concurrent === true ? await allAtOnce(count, send) : await inTurn(count, send);
    const failures = tally(outcomes);
    const failed = failures.reduce((sum, failure) => sum + failure.count, 0);
    return { structured: { succeeded: count - failed, failed, failures } };
  },
});

type Outcome = Omit<Failure, 'count'> | undefined;

async function attempt(context: HandlerContext, kind: keyof typeof questions): Promise<Outcome> {
  try {
    await questions[kind](context);
    return undefined;
  } catch (error) {
    // After a cancellation of the call, nobody awaits the count.
    if (!(error instanceof RuntimeError) || context.signal.aborted) throw error;
    const { code, remote } = error;
    if (code === 'CAPABILITY_MISSING') throw error;
    return remote === undefined ? { code } : { code, remoteCode: remote.code };
  }
}

function allAtOnce(count: number, send: () => Promise<Outcome>): Promise<readonly Outcome[]> {
  return Promise.all(Array.from({ length: count }, send));
}

async function inTurn(count: number, send: () => Promise<Outcome>): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.length < count) outcomes.push(await send());
  return outcomes;
}

function tally(outcomes: readonly Outcome[]): readonly Failure[] {
  const counts = new Map<string, Failure>();
  for (const outcome of outcomes) {
    if (outcome === undefined) continue;
    const key = JSON.stringify(outcome);
    counts.set(key, { ...outcome, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}
