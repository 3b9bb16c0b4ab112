import type { JsonObject, Tool } from 'mcp-actors';
import type { SamplingRequest } from '../../src/server/context/sampling.ts';
import { cancelled, toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { eachRevisionAndHttp, everywhere } from '../contract/everywhere.ts';
import { operateWarm, textOf, tool } from '../contract/serving.ts';

const method = 'sampling/createMessage';
const hello = { role: 'user', content: 'Hello' } as const;
const reply = { role: 'assistant', model: 'm-1', content: { type: 'text', text: 'Hi' } };
const everything = { sampling: { tools: {}, context: {} } };
const weather = { name: 'weather', inputSchema: { type: 'object' } } as const;
const use = (id: string) => ({ type: 'tool_use', id, name: 'weather', input: {} }) as const;
const outcome = (toolUseId: string) => ({ type: 'tool_result', toolUseId, content: [] }) as const;

/** Samples what its arguments say; its text is what came of it as JSON, or the error's name and code. */
function sampling(): Tool {
  return tool('sample', async (args, context) => {
    try {
      return JSON.stringify(await context.sample(args as unknown as SamplingRequest));
    } catch (error) {
      const { name, code, message, remote } = error as {
        name: string;
        code?: string;
        message: string;
        remote?: unknown;
      };
      return JSON.stringify({ name, code, message, remote });
    }
  });
}

const start = (options: Parameters<typeof operateWarm>[1]) =>
  operateWarm({ tools: [sampling()] }, options);
const read = (result: JsonObject | undefined) => JSON.parse(textOf(result)) as JsonObject;

everywhere('sampling', eachRevisionAndHttp, (combination) => {
  test('sends the conversation of the handler and returns the reply [SAMPLE-04] [SAMPLE-05]', async () => {
    const { peer } = await start({ ...combination, capabilities: { sampling: {} } });
    const rest = {
      maxTokens: 7,
      systemPrompt: 'Be brief',
      modelPreferences: { hints: [{ name: 'm' }], costPriority: 0, speedPriority: 1 },
      temperature: 0.5,
      stopSequences: ['.'],
      metadata: { a: 1 },
      includeContext: 'none',
    };
    peer.send(toolCall(1, 'sample', { messages: [hello], ...rest }));
    const asked = await peer.request(method);
    expect(asked.params).toEqual({
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
      ...rest,
    });
    peer.answer(asked, { ...reply, stopReason: 'endTurn', more: 1 });
    expect(read((await peer.response(1)).result)).toEqual({
      role: 'assistant',
      model: 'm-1',
      content: [reply.content],
      text: 'Hi',
      toolUses: [],
      stopReason: 'endTurn',
    });
  });

  test('does not sample a client without the capability [SAMPLE-01]', async () => {
    const { peer } = await start({ ...combination, capabilities: { sampling: true as never } });
    const answer = read(await peer.call('sample', { messages: [hello], maxTokens: 1 }));
    expect(answer).toMatchObject({ name: 'RuntimeError', code: 'CAPABILITY_MISSING' });
    expect(peer.count(method)).toBe(0);
  });

  test('reports the refusal of the user to the handler [SAMPLE-07]', async () => {
    const { peer } = await start({ ...combination, capabilities: { sampling: {} } });
    peer.send(toolCall(1, 'sample', { messages: [hello], maxTokens: 1 }));
    const error = { code: -1, message: 'User rejected sampling request' };
    peer.refuse(await peer.request(method), error);
    expect(read((await peer.response(1)).result)).toMatchObject({
      code: 'REQUEST_FAILED',
      remote: error,
    });
  });

  test('cancels sampling together with its call [CANCEL-05]', async () => {
    const { peer } = await start({ ...combination, capabilities: { sampling: {} } });
    peer.send(toolCall(1, 'sample', { messages: [hello], maxTokens: 1 }));
    const { id } = await peer.request(method);
    peer.send(cancelled(1));
    const { params } = await peer.notification('notifications/cancelled');
    expect(params?.['requestId']).toBe(id);
  });
});

everywhere('a client that declares everything', eachRevisionAndHttp, ({ revision }) => {
  const isLatest = revision === '2025-11-25';
  const refusal = {
    code: 'CAPABILITY_MISSING',
    message: expect.stringContaining(revision) as string,
  };

  test.each([
    ['tools', { messages: [hello], tools: [weather] }],
    ['a choice of tools', { messages: [hello], toolChoice: { mode: 'none' } }],
    [
      'a conversation with tools',
      {
        messages: [
          hello,
          { role: 'assistant', content: [use('1'), use('2')] },
          { role: 'user', content: [outcome('2'), outcome('1')] },
        ],
      },
    ],
  ])('sends %s since 2025-11-25 [SAMPLE-02]', async (_, request) => {
    const { peer } = await start({ revision, capabilities: everything });
    peer.send(toolCall(1, 'sample', { ...request, maxTokens: 1 }));
    if (isLatest) peer.answer(await peer.request(method), reply);
    const answer = read((await peer.response(1)).result);
    expect(answer).toMatchObject(isLatest ? { text: 'Hi' } : refusal);
    expect(peer.count(method)).toBe(isLatest ? 1 : 0);
  });

  test('sends audio since 2025-03-26 [SAMPLE-04]', async () => {
    const { peer } = await start({ revision, capabilities: everything });
    const audio = { role: 'user', content: { type: 'audio', data: 'AA==', mimeType: 'audio/wav' } };
    peer.send(toolCall(1, 'sample', { messages: [audio], maxTokens: 1 }));
    const knows = revision !== '2024-11-05';
    if (knows) peer.answer(await peer.request(method), reply);
    const answer = read((await peer.response(1)).result);
    expect(answer).toMatchObject(knows ? { text: 'Hi' } : refusal);
  });

  test('sends several blocks as one message since 2025-11-25, as several before [SAMPLE-04]', async () => {
    const { peer } = await start({ revision, capabilities: everything });
    const [one, two] = ['1', '2'].map((text) => ({ type: 'text', text }));
    const message = { role: 'user', content: [one, two], _meta: { a: 1 } };
    peer.send(toolCall(1, 'sample', { messages: [message], maxTokens: 1 }));
    const asked = await peer.request(method);
    expect(asked.params?.['messages']).toEqual(
      isLatest
        ? [message]
        : [
            { role: 'user', content: one },
            { role: 'user', content: two },
          ],
    );
    peer.answer(asked, reply);
    await peer.response(1);
  });
});

describe('sampling subcapabilities', () => {
  test.each([
    ['sampling.tools', { tools: [weather] }, { sampling: { context: {} } }],
    ['sampling.tools', { toolChoice: {} }, { sampling: {} }],
    ['sampling.context', { includeContext: 'thisServer' }, { sampling: { tools: {} } }],
    ['sampling.context', { includeContext: 'allServers' }, { sampling: {} }],
  ])(
    'reject an undeclared %s: %j [SAMPLE-02] [SAMPLE-03]',
    async (capability, request, capabilities) => {
      const { peer } = await start({ capabilities });
      const answer = read(
        await peer.call('sample', { messages: [hello], maxTokens: 1, ...request }),
      );
      expect(answer).toMatchObject({
        code: 'CAPABILITY_MISSING',
        message: expect.stringContaining(`"${capability}"`) as string,
      });
      expect(peer.count(method)).toBe(0);
    },
  );
});

everywhere('the context of a client', eachRevisionAndHttp, ({ revision }) => {
  test('are used if the client declares them [SAMPLE-03]', async () => {
    const context = revision < '2025-11-25' ? {} : { context: {} };
    const { peer } = await start({ capabilities: { sampling: context } });
    const includeContext = 'thisServer';
    peer.send(toolCall(1, 'sample', { messages: [hello], maxTokens: 1, includeContext }));
    const asked = await peer.request(method);
    expect(asked.params).toMatchObject({ includeContext });
    peer.answer(asked, reply);
    await peer.response(1);
  });
});

describe('invalid sampling requests', () => {
  const assistant = (...content: readonly object[]) => ({ role: 'assistant', content });
  const user = (...content: readonly object[]) => ({ role: 'user', content });
  const text = { type: 'text', text: 'and' };
  test.each<[string, object, RegExp]>([
    ['no tokens', { maxTokens: 0 }, /maxTokens must be a whole number/],
    ['half a token', { maxTokens: 0.5 }, /maxTokens/],
    ['no messages', { messages: 'Hello' }, /messages must be a list/],
    [
      'a priority',
      { modelPreferences: { costPriority: 2 } },
      /costPriority must be a number from 0 to 1, got 2/,
    ],
    [
      'a result among others',
      { messages: [hello, assistant(use('1')), user(outcome('1'), text)] },
      /messages\[2\].*tool results only/,
    ],
    [
      'a result of the assistant',
      { messages: [hello, assistant(use('1')), assistant(outcome('1'))] },
      /messages\[2\]/,
    ],
    [
      'a missing result',
      { messages: [assistant(use('1'), use('2')), user(outcome('1'))] },
      /messages\[1\].*"2" is missing/,
    ],
    [
      'a late result',
      { messages: [assistant(use('1')), hello, user(outcome('1'))] },
      /messages\[1\].*"1" is missing/,
    ],
    ['a result for nothing', { messages: [hello, user(outcome('1'))] }, /messages\[1\].*"1"/],
    [
      'two results for one',
      { messages: [assistant(use('1')), user(outcome('1'), outcome('1'))] },
      /one result per preceding tool use/,
    ],
    [
      'a use by the user',
      { messages: [user(use('1'))] },
      /messages\[0\] must have the role assistant/,
    ],
    [
      'no result at all',
      { messages: [hello, assistant(use('1'))] },
      /last message has the tool use "1"/,
    ],
    [
      'a tool without a schema',
      { tools: [{ name: 'weather', inputSchema: { type: 'array' } }] },
      /"weather"/,
    ],
  ])('%s [SAMPLE-06]', async (_, request, message) => {
    const { peer } = await start({ capabilities: everything });
    const answer = read(await peer.call('sample', { messages: [hello], maxTokens: 1, ...request }));
    expect(answer).toMatchObject({
      name: 'TypeError',
      message: expect.stringMatching(message) as string,
    });
    expect(peer.count(method)).toBe(0);
  });
});

describe('a sampling result', () => {
  const block = (text: string) => ({ type: 'text', text });

  test.each<[object, object]>([
    [{ content: [] }, { content: [], text: '', toolUses: [] }],
    [{ content: [block('a'), use('1'), block('b')] }, { text: 'ab', toolUses: [use('1')] }],
    [
      { content: use('1'), stopReason: 'toolUse' },
      { toolUses: [use('1')], stopReason: 'toolUse' },
    ],
    [{ content: { type: 'image', data: 'AA==', mimeType: 'image/png' } }, { text: '' }],
    [{ role: 'user' }, { role: 'user' }],
  ])('with %j is parsed as %j [SAMPLE-05]', async (given, expected) => {
    const { peer } = await start({ capabilities: everything });
    peer.send(toolCall(1, 'sample', { messages: [hello], maxTokens: 1 }));
    peer.answer(await peer.request(method), { ...reply, ...given });
    expect(read((await peer.response(1)).result)).toMatchObject(expected);
  });

  test.each<[object, RegExp]>([
    [{ role: 'system' }, /"role" must be "user" or "assistant", got "system"/],
    [{ model: 7 }, /"model" must be a string, got 7/],
    [{ content: 'Hi' }, /content must be a content block, got "Hi"/],
    [{ content: null }, /content must be a content block, got null/],
    [
      { content: [block('a'), { type: 'text' }] },
      /content\[1\]: "text" of a text block is invalid, got missing/,
    ],
    [{ content: { type: 'video' } }, /content must have a type of text, .*, got "video"/],
    [
      { content: { ...use('1'), input: [] } },
      /content: "input" of a tool_use block is invalid, got an array/,
    ],
  ])('with %j is rejected [SAMPLE-05]', async (given, message) => {
    const { peer } = await start({ capabilities: everything });
    peer.send(toolCall(1, 'sample', { messages: [hello], maxTokens: 1 }));
    peer.answer(await peer.request(method), { ...reply, ...given });
    expect(read((await peer.response(1)).result)).toMatchObject({
      code: 'INVALID_RESPONSE',
      message: expect.stringMatching(message) as string,
    });
  });
});
