import { definePrompt } from 'mcp-actors';
import type { Prompt, PromptOutput } from 'mcp-actors';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
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

  test('declares prompts [PROMPT-01]', async () => {
    const { session } = await operate({ prompts: [] }, { revision, transport });
    const { server } = session.actor.getSnapshot().context;
    expect(server.capabilities).toEqual({ prompts: { listChanged: true } });
  });

  test('lists prompts with the members of the revision [PROMPT-02]', async () => {
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

  test('gets a prompt with its arguments [PROMPT-03]', async () => {
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
  ])('rejects %j and names the problem [PROMPT-04]', async (params, named) => {
    const { peer } = await operate({ prompts: [review, bare] }, { revision, transport });
    await expect(peer.ask('prompts/get', params)).rejects.toMatchObject({
      error: { code: -32602, message: expect.stringContaining(named) },
    });
  });

  test('does not offer prompts without any in the definition [LIFE-11]', async () => {
    const { peer } = await operate({ tools: [] }, { revision, transport });
    for (const method of ['prompts/list', 'prompts/get']) {
      await expect(peer.ask(method)).rejects.toMatchObject({ error: { code: -32601 } });
    }
  });
});

/** The same arguments for three libraries: what is sent is coerced by the schema. */
const libraries = {
  zod: z.object({
    city: z.string().min(2).meta({ id: 'City', title: 'City', description: 'Where to' }),
    days: z.coerce.number().int().default(3).describe('How long'),
    start: z.coerce.date().optional(),
  }),
  valibot: toStandardJsonSchema(
    v.object({
      city: v.pipe(v.string(), v.minLength(2), v.title('City'), v.description('Where to')),
      days: v.optional(
        v.pipe(v.string(), v.description('How long'), v.transform(Number), v.integer()),
        '3',
      ),
      start: v.optional(
        v.pipe(
          v.string(),
          v.transform((text) => new Date(text)),
          v.date(),
        ),
      ),
    }),
  ),
  arktype: type({
    city: type('string >= 2').configure({ title: 'City', description: 'Where to' }, 'self'),
    days: type('string.integer')
      .configure({ description: 'How long' }, 'self')
      .pipe(Number)
      .default('3'),
    'start?': 'string.date.parse',
  }),
};

describe.each(Object.entries(libraries))(
  'prompt arguments with a schema of %s',
  (_library, schema) => {
    const trip = definePrompt({
      name: 'trip',
      arguments: schema as typeof libraries.zod,
      complete: { city: (value) => ['Rome', 'Riga'].filter((each) => each.startsWith(value)) },
      get: ({ city, days, start }) => `${days + 1} days in ${city}, ${start?.getTime()}`,
    });
    const open = async () => (await operate({ prompts: [trip] })).peer;
    const get = async (args: object) =>
      (await open()).ask('prompts/get', { name: 'trip', arguments: args });

    test('are listed with names, descriptions and required flags from the schema [PROMPT-02]', async () => {
      const { prompts } = await (await open()).ask('prompts/list');
      const [listed] = prompts as readonly [{ readonly arguments: readonly { name: string }[] }];
      const byName = listed.arguments.toSorted((a, b) => a.name.localeCompare(b.name));
      expect(byName).toEqual([
        { name: 'city', title: 'City', description: 'Where to', required: true },
        { name: 'days', description: 'How long', required: false },
        { name: 'start', required: false },
      ]);
    });

    test('are passed to get as parsed by the schema [PROMPT-03]', async () => {
      const sent = { city: 'Rome', days: '4', start: '1970-01-02' };
      expect(await get(sent)).toHaveProperty('messages.0.content.text', '5 days in Rome, 86400000');
      expect(await get({ city: 'Rome' })).toHaveProperty(
        'messages.0.content.text',
        '4 days in Rome, undefined',
      );
    });

    test.each([
      [{ city: 'R' }, /invalid arguments for the prompt "trip": city/],
      [{ city: 'Rome', days: 'x' }, /invalid arguments for the prompt "trip": days/],
      [{ city: 'Rome', days: 4 }, /"arguments.days" must be a string/],
      [{ days: '4' }, /requires the argument "city"/],
      [{ city: 'Rome', town: 'x' }, /has no argument "town", its arguments are/],
    ])('are rejected by name if they are %j [PROMPT-04]', async (args, message) => {
      await expect(get(args)).rejects.toMatchObject({
        error: { code: -32602, message: expect.stringMatching(message) },
      });
    });

    test('are completed [COMPL-02]', async () => {
      const peer = await open();
      const ref = { type: 'ref/prompt', name: 'trip' };
      expect(
        await peer.ask('completion/complete', { ref, argument: { name: 'city', value: 'Ri' } }),
      ).toHaveProperty('completion.values', ['Riga']);
      expect(
        await peer.ask('completion/complete', { ref, argument: { name: 'days', value: '' } }),
      ).toHaveProperty('completion.values', []);
    });
  },
);

test('supports schemas that validate prompt arguments asynchronously [PROMPT-03]', async () => {
  const known = definePrompt({
    name: 'known',
    arguments: z.object({ user: z.string().refine((user) => Promise.resolve(user === 'ada')) }),
    get: async ({ user }) => await Promise.resolve(user),
  });
  const { peer } = await operate({ prompts: [known] });
  const ask = (user: string) => peer.ask('prompts/get', { name: 'known', arguments: { user } });
  expect(await ask('ada')).toHaveProperty('messages.0.content.text', 'ada');
  await expect(ask('bob')).rejects.toMatchObject({ error: { code: -32602 } });
});

everywhere('what a prompt gives', eachRevision, ({ revision }) => {
  const annotations = { priority: 1, lastModified: '2025-01-12T15:00:58Z' };
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' } as const;
  const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' } as const;
  const link = { type: 'resource_link', uri: 'r://a', name: 'a', description: 'one' } as const;
  const resource = { uri: 'r://a', mimeType: 'text/plain', text: 'a' };
  const isTitled = revision >= '2025-06-18';

  test('returns messages with every content type of the revision [PROMPT-03] [TOOLS-10]', async () => {
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
    const told = `[Audio, audio/wav: not supported by MCP ${revision}]`;
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

  test('returns a description and _meta with the messages [PROMPT-03]', async () => {
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
  ])('reports its own failure if it returns %j [PROMPT-05]', async (output) => {
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

  test('fails only its own request [FLOW-04]', async () => {
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

test('types the arguments of get from the definition [PROMPT-03]', () => {
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
