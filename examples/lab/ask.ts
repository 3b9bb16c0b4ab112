/** The lab's tool that asks the client. */
import { RuntimeError, defineTool } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';

/** What an answer to `roots/list` is: the client is asked in vain if it answers otherwise. */
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

/** One valid question of each kind. */
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

/** Why a question failed: our code, and the client's own if it answered with an error. */
interface Failure {
  readonly code: string;
  readonly remoteCode?: number;
  readonly count: number;
}

/**
 * Asks the client, and says how many succeeded and how the others failed. It knows of no era: since
 * 2026-07-28 each question, or all of them at once, is a round of the call.
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
    // If the call itself was cancelled, nobody waits for the count any more.
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
