/** What a host's model is given of a server's sampling, and what it is not asked about. */
import { describe, expect, test } from 'vitest';
import { asking } from './asking.ts';

describe('sampling', () => {
  const messages = [{ role: 'user', content: { type: 'text', text: 'Hi' } }];
  const said = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } } as const;

  test("passes the server's messages to the model", async () => {
    const { ask } = await asking({
      sample: ({ messages: given }) => ({ ...said, model: `saw ${given.length}` }),
    });
    const params = { messages, maxTokens: 5 };
    expect(await ask('sampling/createMessage', params)).toEqual({ ...said, model: 'saw 1' });
  });

  test('passes each request to the model without earlier context [ANSWER-15]', async () => {
    const seen: unknown[] = [];
    const { ask } = await asking({
      sample: (request) => {
        seen.push(request);
        return said;
      },
    });
    const other = [{ role: 'user', content: { type: 'text', text: 'Something else' } }];
    await ask('sampling/createMessage', { messages, maxTokens: 5 });
    await ask('sampling/createMessage', { messages: other, maxTokens: 6 });
    expect(seen).toEqual([
      { messages, maxTokens: 5 },
      { messages: other, maxTokens: 6 },
    ]);
  });

  const use = (id: string) => ({ type: 'tool_use', id, name: 't', input: {} });
  const outcome = (toolUseId: string) => ({ type: 'tool_result', toolUseId, content: [] });
  const turnOf = (role: string, ...content: object[]) => ({ role, content });
  const text = { type: 'text', text: 'x' };

  test.each<[what: string, conversation: readonly object[], fault: RegExp]>([
    ['no result', [turnOf('assistant', use('1'))], /"1"; add a message with its result/],
    [
      'a lone use',
      [{ role: 'assistant', content: use('1') }],
      /"1"; add a message with its result/,
    ],
    [
      'a missing result',
      [turnOf('assistant', use('1'), use('2')), turnOf('user', outcome('1'))],
      /"2" is missing/,
    ],
    [
      'results beside a text',
      [turnOf('assistant', use('1')), turnOf('user', outcome('1'), text)],
      /tool results only/,
    ],
    ['a result for nothing', [turnOf('user', outcome('1'))], /got an unexpected one for/],
  ])('rejects a conversation with %s [ANSWER-13]', async (_, conversation, fault) => {
    const tools = { sampling: { tools: {} } };
    const { ask } = await asking({ sample: () => Promise.reject(new Error('asked')) }, tools);
    const params = { messages: conversation, maxTokens: 5 };
    await expect(ask('sampling/createMessage', params)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(fault) as string,
    });
  });

  test('accepts a tool use with its result [ANSWER-13]', async () => {
    const { ask } = await asking({ sample: () => said }, { sampling: { tools: {} } });
    const conversation = [turnOf('assistant', text, use('1')), turnOf('user', outcome('1'))];
    const params = { messages: conversation, maxTokens: 5 };
    expect(await ask('sampling/createMessage', params)).toEqual(said);
  });

  test('rejects tools unless declared', async () => {
    const withTools = { messages, maxTokens: 5, tools: [] };
    const { ask } = await asking({ sample: () => said });
    await expect(ask('sampling/createMessage', withTools)).rejects.toMatchObject({ code: -32602 });
    const { ask: askAnother } = await asking({ sample: () => said }, { sampling: { tools: {} } });
    expect(await askAnother('sampling/createMessage', withTools)).toEqual(said);
  });

  test.each([
    [{ ...said, model: undefined }, 'must have a string as "model"'],
    ['Hello', 'must be an object'],
  ])('reports an invalid answer of the model: %o', async (answer, fault) => {
    const { ask, facts } = await asking({ sample: () => answer as never });
    await expect(ask('sampling/createMessage', { messages, maxTokens: 5 })).rejects.toMatchObject({
      code: -32603,
    });
    expect(facts).toEqual([expect.stringContaining(fault)]);
  });
});
