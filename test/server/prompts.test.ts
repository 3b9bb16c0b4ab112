import { definePrompt } from 'mcp-actors';
import type { Prompt, PromptOutput } from 'mcp-actors';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { eachRevision, everywhere } from '../contract/everywhere.ts';
import { operate } from '../contract/serving.ts';

const icons = [{ src: 'https://example.com/review.svg', sizes: ['any'] }];

const review = definePrompt({
  name: 'review',
  title: 'Review code',
  description: 'Asks for a review',
  icons,
  _meta: { 'example.com/x': 1 },
  arguments: {
    code: { title: 'Code', description: 'What to review', required: true },
    tone: { description: 'How to say it' },
  },
  get: ({ code, tone = 'kind' }) => `Review this, be ${tone}: ${code}`,
});

const bare = definePrompt({ name: 'bare', get: () => 'Hello' });

/** A prompt that gives this. */
function giving(output: unknown): Prompt {
  return definePrompt({ name: 'giving', get: () => output as PromptOutput });
}

everywhere('prompts', eachRevision, ({ revision, transport }) => {
  const isTitled = revision >= '2025-06-18';

  test('are declared [PROMPT-01]', async () => {
    const { session } = await operate({ prompts: [] }, { revision, transport });
    const { server } = session.actor.getSnapshot().context;
    expect(server.capabilities).toEqual({ prompts: { listChanged: true } });
  });

  test('are listed with what the revision knows [PROMPT-02]', async () => {
    const { peer } = await operate({ prompts: [review, bare] }, { revision, transport });
    expect(await peer.ask('prompts/list')).toEqual({
      prompts: [
        {
          name: 'review',
          description: 'Asks for a review',
          ...(isTitled ? { title: 'Review code', _meta: { 'example.com/x': 1 } } : {}),
          ...(revision >= '2025-11-25' ? { icons } : {}),
          arguments: [
            {
              name: 'code',
              description: 'What to review',
              required: true,
              ...(isTitled ? { title: 'Code' } : {}),
            },
            { name: 'tone', description: 'How to say it' },
          ],
        },
        { name: 'bare' },
      ],
    });
  });

  test('are got with their arguments [PROMPT-03]', async () => {
    const { peer } = await operate({ prompts: [review, bare] }, { revision, transport });
    const args = { code: 'x = 1', tone: 'terse' };
    expect(await peer.ask('prompts/get', { name: 'review', arguments: args })).toEqual({
      description: 'Asks for a review',
      messages: [{ role: 'user', content: { type: 'text', text: 'Review this, be terse: x = 1' } }],
    });
    expect(await peer.ask('prompts/get', { name: 'bare' })).toEqual({
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
    });
  });

  test.each([
    [{ name: 'nothing' }, '"nothing"'],
    [{ name: 7 }, '"name"'],
    [{}, '"name"'],
    [{ name: 'review' }, '"code"'],
    [{ name: 'review', arguments: { tone: 'kind' } }, '"code"'],
    [{ name: 'review', arguments: { code: 'x', other: 'y' } }, '"other"'],
    [{ name: 'review', arguments: { code: 7 } }, '"arguments.code"'],
    [{ name: 'review', arguments: { code: null } }, '"arguments.code"'],
    [{ name: 'review', arguments: 'x' }, '"arguments"'],
    [{ name: 'review', arguments: ['x'] }, '"arguments"'],
    [{ name: 'review', arguments: { code: 'x', toString: 'y' } }, '"toString"'],
    [{ name: 'bare', arguments: JSON.parse('{"__proto__":"x"}') as object }, '"__proto__"'],
  ])('refuse %j, naming what is wrong [PROMPT-04]', async (params, named) => {
    const { peer } = await operate({ prompts: [review, bare] }, { revision, transport });
    await expect(peer.ask('prompts/get', params)).rejects.toMatchObject({
      error: { code: -32602, message: expect.stringContaining(named) },
    });
  });

  test('are not offered where the definition names none [LIFE-11]', async () => {
    const { peer } = await operate({ tools: [] }, { revision, transport });
    for (const method of ['prompts/list', 'prompts/get']) {
      await expect(peer.ask(method)).rejects.toMatchObject({ error: { code: -32601 } });
    }
  });
});

everywhere('what a prompt gives', eachRevision, ({ revision }) => {
  const annotations = { priority: 1, lastModified: '2025-01-12T15:00:58Z' };
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' } as const;
  const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' } as const;
  const link = { type: 'resource_link', uri: 'r://a', name: 'a', description: 'one' } as const;
  const resource = { uri: 'r://a', mimeType: 'text/plain', text: 'a' };
  const isTitled = revision >= '2025-06-18';

  test('may be messages of every content, in what the revision knows [PROMPT-03] [TOOLS-10]', async () => {
    const messages = [
      { role: 'user', content: { type: 'text', text: 'a', annotations } },
      { role: 'assistant', content: image },
      { role: 'user', content: audio },
      { role: 'user', content: link },
      {
        role: 'user',
        content: { type: 'resource', resource: { ...resource, _meta: { 'a/b': 1 } }, _meta: {} },
      },
    ];
    const { peer } = await operate({ prompts: [giving(messages)] }, { revision });
    const got = await peer.ask('prompts/get', { name: 'giving' });
    const contents = (got['messages'] as readonly { readonly content: object }[]).map(
      ({ content }) => content,
    );
    const told = `[Audio, audio/wav: a client of MCP ${revision} cannot be sent it]`;
    expect(contents).toEqual([
      {
        type: 'text',
        text: 'a',
        annotations: isTitled ? annotations : { priority: 1 },
      },
      image,
      revision >= '2025-03-26' ? audio : { type: 'text', text: told },
      isTitled ? link : { type: 'text', text: 'a: r://a (one)' },
      isTitled ? messages[4]?.content : { type: 'resource', resource },
    ]);
  });

  test('may have a description of its own, and _meta [PROMPT-03]', async () => {
    const output = {
      description: 'Mine',
      messages: [{ role: 'assistant', content: { type: 'text', text: 'a' } }],
      _meta: { 'example.com/x': 1 },
    };
    const { peer } = await operate({ prompts: [giving(output)] }, { revision });
    expect(await peer.ask('prompts/get', { name: 'giving' })).toEqual(output);
  });
});

describe('a prompt', () => {
  test.each([
    [undefined],
    [7],
    [{}],
    [{ messages: 'a' }],
    [{ messages: [], description: 7 }],
    [['a']],
    [[{ role: 'system', content: { type: 'text', text: 'a' } }]],
    [[{ role: 'user', content: 'a' }]],
    [[{ role: 'user', content: { type: 'text' } }]],
    [[{ role: 'user', content: { type: 'video' } }]],
    [[{ role: 'user', content: { type: 'image', data: '??', mimeType: 'image/png' } }]],
    [[{ role: 'user', content: { type: 'resource', resource: { uri: 'a://b' } } }]],
  ])('that gives %j has failed, by its own fault [PROMPT-05]', async (output) => {
    const late = definePrompt({ name: 'late', get: async () => output as never });
    const { peer, facts } = await operate({ prompts: [giving(output), late] });
    for (const name of ['giving', 'late']) {
      await expect(peer.ask('prompts/get', { name })).rejects.toMatchObject({
        error: { code: -32603, message: 'Internal error' },
      });
      expect((await facts.next('handler.failed')).details).toHaveProperty(
        'error.name',
        'TypeError',
      );
    }
  });

  test('that fails fails alone [FLOW-04]', async () => {
    const broken = definePrompt({
      name: 'broken',
      get: () => {
        throw new Error('the password is 1234');
      },
    });
    const { peer } = await operate({ prompts: [broken, bare] });
    await expect(peer.ask('prompts/get', { name: 'broken' })).rejects.toMatchObject({
      error: { code: -32603, message: 'Internal error' },
    });
    expect(await peer.ask('prompts/get', { name: 'bare' })).toHaveProperty('messages.length', 1);
  });
});

test('the definition of a prompt gives its arguments their types [PROMPT-03]', () => {
  definePrompt({
    name: 'typed',
    arguments: { must: { required: true }, may: {} },
    get: (args) => {
      expectTypeOf(args.must).toEqualTypeOf<string>();
      expectTypeOf(args.may).toEqualTypeOf<string | undefined>();
      return '';
    },
  });
});
