/**
 * Examples that request input, in 2026-07-28: all rounds in the same process, and each in another
 * one, which runs the handler again.
 */
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { launch, reapServers } from '../e2e/server-process.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import { program } from '../tooling/programs.ts';
import type { Program } from '../tooling/programs.ts';

afterEach(reapServers);

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

interface Question {
  readonly method: string;
}

/**
 * Calls a tool with a client that gives these answers. Processes share a key, so that each can
 * resume calls of another.
 */
async function call(
  source: Program,
  way: 'keep' | 'replay',
  tool: JsonObject,
  answer: (question: Question) => JsonObject,
) {
  const start = () =>
    launch(program(source), { env: { MCP_STATE_KEYS: '0123456789abcdef'.repeat(4) } });
  let server: ServerProcess = start();
  let round: JsonObject = {};
  for (let id = 0; ; id++) {
    server.send(enveloped(id, 'tools/call', { ...tool, ...round }, { capabilities }));
    const { result } = (await server.answer(id)) as unknown as { readonly result: JsonObject };
    if (result['resultType'] === 'complete') {
      const [block] = result['content'] as readonly { readonly text: string }[];
      return { text: block?.text, rounds: id };
    }
    const { requestState } = result;
    const asked = Object.entries(result['inputRequests'] as { [key: string]: Question });
    const inputResponses = Object.fromEntries(asked.map(([key, one]) => [key, answer(one)]));
    round = { requestState, inputResponses };
    if (way === 'replay') {
      server.end();
      server = start();
    }
  }
}

const accept = (content: JsonObject) => ({ action: 'accept', content });
const sampled = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Short.' } };

describe.each(['keep', 'replay'] as const)('a suspended call resumes elsewhere (%s)', (way) => {
  test('in the elicitation example', async () => {
    const tool = { name: 'book_table', arguments: { day: 'Friday' } };
    const answer = () => accept({ people: 4, seating: 'terrace' });
    expect(await call('examples/elicitation/server.ts', way, tool, answer)).toEqual({
      text: 'Booked for 4, terrace, on Friday',
      rounds: 1,
    });
  });

  test('in the sampling example', async () => {
    const tool = { name: 'summarize', arguments: { text: 'A long text', words: 3 } };
    expect(await call('examples/sampling/server.ts', way, tool, () => sampled)).toEqual({
      text: 'Short.',
      rounds: 1,
    });
  });

  test('in the booking example, step by step and back', async () => {
    const steps = [{ people: 4 }, { back: true }, { people: 3 }, { seating: 'terrace' }];
    const answers = [...steps, { name: 'Ada' }].map(accept);
    const tool = { name: 'book', arguments: { day: 'Friday' } };
    const answer = () => answers.shift() as JsonObject;
    expect(await call('examples/booking/server.ts', way, tool, answer)).toEqual({
      text: 'Booked for 3, terrace, on Friday, under the name of Ada.',
      rounds: 5,
    });
  });

  test('in the laboratory, one request per round', async () => {
    const tool = { name: 'ask', arguments: { kind: 'elicitation', count: 2 } };
    const { text, rounds } = await call('examples/lab/server.ts', way, tool, () => ({
      action: 'decline',
    }));
    expect([text, rounds]).toEqual([expect.stringMatching(/^\D*2\D/), 2]);
  });

  test.each([
    [false, 3],
    [true, 1],
  ])('with all kinds of requests (at once: %s)', async (atOnce, rounds) => {
    const answers: { readonly [method: string]: JsonObject } = {
      'elicitation/create': accept({ name: 'Ada' }),
      'sampling/createMessage': sampled,
      'roots/list': { roots: [{ uri: 'file:///work' }] },
    };
    const tool = { name: 'ask_everything', arguments: { atOnce } };
    const answer = ({ method }: Question) => answers[method] as JsonObject;
    expect(await call('test/e2e/asking-server.ts', way, tool, answer)).toEqual({
      text: 'Ada: Short. file:///work',
      rounds,
    });
  });
});
