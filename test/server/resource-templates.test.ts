import { defineResource, defineResourceTemplate } from 'mcp-actors';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { eachRevision, everywhere } from '../contract/everywhere.ts';
import { operate } from '../contract/serving.ts';

const icons = [{ src: 'https://example.com/i.png', mimeType: 'image/png', sizes: ['48x48'] }];
const annotations = {
  audience: ['user'],
  priority: 0.5,
  lastModified: '2025-01-12T15:00:58Z',
} as const;
const described = {
  title: 'A title',
  description: 'What it is',
  mimeType: 'text/plain',
  icons,
  annotations,
  _meta: { 'example.com/x': 1 },
};

const notes = defineResourceTemplate({
  uriTemplate: 'notes://{user}/{+path}{?line}',
  name: 'notes',
  ...described,
  list: async () =>
    await Promise.resolve([
      { uri: 'notes://b/2', name: 'two', size: 3, ...described },
      { uri: 'notes://a/1', name: 'one' },
      { uri: 'notes://me/fixed', name: 'listed too' },
    ]),
  read: (uri, variables) =>
    variables.user === 'nobody' ? undefined : JSON.stringify({ uri, ...variables }),
});

const fixed = defineResource({
  uri: 'notes://me/fixed',
  name: 'fixed',
  size: 5,
  ...described,
  read: () => 'fixed',
});

const features = { resources: [fixed], resourceTemplates: [notes] };

/** What a revision's clients are told of {@link described}. */
function knownTo(revision: string) {
  const { title, description, mimeType, _meta } = described;
  const { audience, priority } = annotations;
  return {
    description,
    mimeType,
    annotations: revision >= '2025-06-18' ? annotations : { audience, priority },
    ...(revision >= '2025-06-18' ? { title, _meta } : {}),
    ...(revision >= '2025-11-25' ? { icons } : {}),
  };
}

everywhere('resource templates', eachRevision, ({ revision, transport }) => {
  test('are listed with what the revision knows [RES-05] [RES-07]', async () => {
    const { peer } = await operate(features, { revision, transport });
    expect(await peer.ask('resources/templates/list')).toEqual({
      resourceTemplates: [{ uriTemplate: notes.uriTemplate, name: 'notes', ...knownTo(revision) }],
    });
  });

  test('lists template resources after fixed ones, by URI and without duplicates [RES-07]', async () => {
    const { peer } = await operate(features, { revision, transport });
    expect(await peer.ask('resources/list')).toEqual({
      resources: [
        { uri: 'notes://me/fixed', name: 'fixed', size: 5, ...knownTo(revision) },
        { uri: 'notes://a/1', name: 'one' },
        { uri: 'notes://b/2', name: 'two', size: 3, ...knownTo(revision) },
      ],
    });
  });

  test('reads a template resource with decoded variables, unless a fixed resource matches [RES-05]', async () => {
    const { peer } = await operate(features, { revision, transport });
    const uri = 'notes://ann%20lee/a/b%2Fc.txt?line=4';
    expect(await peer.ask('resources/read', { uri })).toEqual({
      contents: [
        {
          uri,
          mimeType: 'text/plain',
          text: JSON.stringify({ uri, user: 'ann lee', path: 'a/b/c.txt', line: '4' }),
        },
      ],
    });
    expect(await peer.ask('resources/read', { uri: fixed.uri })).toHaveProperty(
      'contents.0.text',
      'fixed',
    );
  });

  test('answers an unmatched or missing URI with -32002 and the URI [RES-02]', async () => {
    const { peer } = await operate(features, { revision, transport });
    for (const uri of ['notes://alone', 'notes://nobody/x', 'notes://a/%zz', 'other://a/b']) {
      await expect(peer.ask('resources/read', { uri })).rejects.toMatchObject({
        error: { code: -32002, data: { uri } },
      });
    }
  });

  test('supports subscriptions to URIs of templates [RES-03]', async () => {
    const { peer, session } = await operate(features, { revision, transport });
    await peer.ask('resources/subscribe', { uri: 'notes://a/1' });
    session.resourceUpdated('notes://a/2');
    session.resourceUpdated('notes://a/1');
    const { params } = await peer.notification('notifications/resources/updated');
    expect(params).toEqual({ uri: 'notes://a/1' });
    await peer.ask('resources/unsubscribe', { uri: 'notes://a/1' });
    session.resourceUpdated('notes://a/1');
    await peer.quiet();
    expect(peer.count('notifications/resources/updated')).toBe(1);
  });

  test('rejects an invalid URI by name [RES-06]', async () => {
    const { peer } = await operate(features, { revision, transport });
    for (const uri of ['no uri', '', 7, null, undefined, {}]) {
      for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe']) {
        await expect(peer.ask(method, { uri })).rejects.toMatchObject({
          error: { code: -32602, message: expect.stringContaining('"uri"') },
        });
      }
    }
  });
});

everywhere('what is read', eachRevision, ({ revision }) => {
  test('reads text, bytes as base64, or contents with the members of the revision [RES-01]', async () => {
    const contents = [
      { uri: 'r://a#1', text: 'one', mimeType: 'text/plain', _meta: { 'example.com/x': 1 } },
      { uri: 'r://a#2', blob: 'AAEC' },
    ];
    const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 256);
    const { peer } = await operate(
      {
        resources: [
          defineResource({ uri: 'r://bytes', name: 'bytes', mimeType: 'a/b', read: () => bytes }),
          defineResource({ uri: 'r://contents', name: 'contents', read: () => contents }),
        ],
      },
      { revision },
    );
    expect(await peer.ask('resources/read', { uri: 'r://bytes' })).toEqual({
      contents: [
        { uri: 'r://bytes', mimeType: 'a/b', blob: Buffer.from(bytes).toString('base64') },
      ],
    });
    const { _meta, ...older } = contents[0]!;
    expect(await peer.ask('resources/read', { uri: 'r://contents' })).toEqual({
      contents: [revision >= '2025-06-18' ? { ...older, _meta } : older, contents[1]],
    });
  });
});

describe('a single resource', () => {
  test.each([
    [undefined, -32002],
    [null, -32603],
    [7, -32603],
    [{ text: 'a' }, -32603],
    [['a'], -32603],
    [[{ text: 'a' }], -32603],
    [[{ uri: 'r://a' }], -32603],
    [[{ uri: 'r://a', blob: 'not base64' }], -32603],
    [[{ uri: 'r://a', text: 'a', mimeType: 7 }], -32603],
  ])('fails only its own request if it returns %j [FLOW-04]', async (given, code) => {
    const { peer } = await operate({
      resources: [
        defineResource({ uri: 'r://odd', name: 'odd', read: () => given as never }),
        defineResource({ uri: 'r://late', name: 'late', read: async () => given as never }),
      ],
    });
    for (const uri of ['r://odd', 'r://late']) {
      await expect(peer.ask('resources/read', { uri })).rejects.toMatchObject({ error: { code } });
    }
  });

  test('can be unsubscribed from after its removal [RES-03]', async () => {
    const { peer, server } = await operate(features);
    await peer.ask('resources/subscribe', { uri: fixed.uri });
    server.resources.remove(fixed.uri);
    server.resourceTemplates.remove(notes.uriTemplate);
    expect(await peer.ask('resources/unsubscribe', { uri: fixed.uri })).toEqual({});
    await expect(peer.ask('resources/unsubscribe', { uri: fixed.uri })).rejects.toMatchObject({
      error: { code: -32002 },
    });
  });

  test('cannot be subscribed to beyond maxSubscriptions until another is unsubscribed [RES-03]', async () => {
    const { peer } = await operate(features, { limits: { maxSubscriptions: 2 } });
    const subscribe = (n: number) => peer.ask('resources/subscribe', { uri: `notes://a/${n}` });
    await subscribe(1);
    await subscribe(2);
    await subscribe(2);
    await expect(subscribe(3)).rejects.toMatchObject({
      error: { code: -32000, data: { reason: 'too-many-subscriptions' } },
    });
    await peer.ask('resources/unsubscribe', { uri: 'notes://a/1' });
    expect(await subscribe(3)).toEqual({});
  });
});

describe('a resource template', () => {
  test.each([['notes'], [[{ name: 'no uri' }]], [[7]], [[{ uri: 'a://b' }]], [undefined]])(
    'fails only its own request if its list returns %j [FLOW-04]',
    async (given) => {
      const odd = defineResourceTemplate({
        uriTemplate: 'odd://{a}',
        name: 'odd',
        list: () => given as never,
        read: () => 'fine',
      });
      const { peer, facts } = await operate({ resourceTemplates: [odd] });
      await expect(peer.ask('resources/list')).rejects.toMatchObject({ error: { code: -32603 } });
      expect((await facts.next('handler.failed')).message).toContain('odd://{a}');
      expect(await peer.ask('resources/read', { uri: 'odd://x' })).toHaveProperty('contents');
    },
  );

  test('is selected in definition order: the first match reads [RES-05]', async () => {
    const templateOf = (uriTemplate: string) =>
      defineResourceTemplate({ uriTemplate, name: uriTemplate, read: () => uriTemplate });
    const { peer } = await operate({
      resourceTemplates: [templateOf('x://{a}.txt'), templateOf('x://{a}')],
    });
    const read = async (uri: string) =>
      (await peer.ask('resources/read', { uri }))['contents'] as readonly { text: string }[];
    expect((await read('x://a.txt'))[0]?.text).toBe('x://{a}.txt');
    expect((await read('x://a.md'))[0]?.text).toBe('x://{a}');
  });
});

describe('resource definitions', () => {
  test('reject a resource without an absolute URI [RES-06]', () => {
    expect(() => defineResource({ uri: 'no uri', name: 'x', read: () => '' })).toThrow('"no uri"');
  });

  test('reject a template that cannot be matched or completes an unknown variable [RES-05]', () => {
    const read = () => '';
    expect(() => defineResourceTemplate({ uriTemplate: 'a://{b', name: 'x', read })).toThrow(
      '"a://{b"',
    );
    expect(() =>
      defineResourceTemplate({
        uriTemplate: 'a://{b}',
        name: 'x',
        read,
        // @ts-expect-error The template has no such variable.
        complete: { c: () => [] },
      }),
    ).toThrow('"c"');
  });

  test('type the variables of a template [RES-05]', () => {
    defineResourceTemplate({
      uriTemplate: 'a://{b}/{c*}/{+d}{.e}{?f,g*}',
      name: 'typed',
      read: (_, variables) => {
        expectTypeOf(variables).toEqualTypeOf<{
          readonly b: string;
          readonly c: readonly string[];
          readonly d: string;
          readonly e?: string;
          readonly f?: string;
          readonly g?: readonly string[];
        }>();
        return '';
      },
    });
    const template: string = 'a://{b}';
    defineResourceTemplate({
      uriTemplate: template,
      name: 'untyped',
      read: (_, variables) => {
        expectTypeOf(variables['b']).toEqualTypeOf<string | readonly string[] | undefined>();
        return '';
      },
    });
  });
});
