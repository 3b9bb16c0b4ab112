/** Items that only some callers see, and items that a session switches on and off. */
import {
  createMcpServer,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
} from 'mcp-actors';
import type { JsonObject, ServerDefinition } from 'mcp-actors';
import type { Visible } from '../../src/server/define/visible.ts';
import { TestClock, testClient, flush } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { askModern } from '../contract/enveloped.ts';
import { eachRevisionAndHttp, everywhere, memoryAndHttp } from '../contract/everywhere.ts';
import { connect, operate, serve, tool } from '../contract/serving.ts';
import { modern } from './modern-peer.ts';

/** By the name that a client gives itself: what a principal would say over HTTP. */
const onlyFor =
  (name: string): Visible =>
  ({ client }) =>
    client.info.name === name;

function hidden(visible: Visible) {
  return {
    tools: [tool('open', () => 'open'), { ...tool('secret', () => 'secret'), visible }],
    prompts: [
      definePrompt({ name: 'open', get: () => 'open' }),
      definePrompt({
        name: 'secret',
        visible,
        arguments: { a: { complete: () => ['value'] } },
        get: () => 'secret',
      }),
    ],
    resources: [
      defineResource({ uri: 'open:1', name: 'open', read: () => 'open' }),
      defineResource({ uri: 'secret:1', name: 'secret', visible, read: () => 'secret' }),
    ],
    resourceTemplates: [
      defineResourceTemplate({
        uriTemplate: 'hidden://{n}',
        name: 'hidden',
        visible,
        complete: { n: () => ['value'] },
        list: () => [{ uri: 'hidden://1', name: 'listed' }],
        read: (uri) => uri,
      }),
    ],
  } satisfies Partial<ServerDefinition>;
}

/** What is in each list. */
const lists = [
  ['tools/list', 'tools', 'name'],
  ['prompts/list', 'prompts', 'name'],
  ['resources/list', 'resources', 'uri'],
  ['resources/templates/list', 'resourceTemplates', 'uriTemplate'],
] as const;

/** What asks for something by name: the same of a hidden name, and of one that never was. */
const askedFor = (name: string) =>
  [
    ['tools/call', { name }],
    ['prompts/get', { name }],
    ['resources/read', { uri: `${name}:1` }],
    ['resources/read', { uri: `hidden${name}://1` }],
    ['completion/complete', completing({ type: 'ref/prompt', name })],
    ['completion/complete', completing({ type: 'ref/resource', uri: `hidden${name}://{n}` })],
  ] as const;

const completing = (ref: JsonObject) => ({ ref, argument: { name: 'a', value: '' } });

everywhere('what is not visible', eachRevisionAndHttp, () => {
  test('hides an item from lists and answers its use like an unknown name', async () => {
    const { peer } = await operate(hidden(() => false));
    let asked = 0;
    for (const [method, member, key] of lists) {
      const items = (await peer.ask(method))[member] as readonly JsonObject[];
      expect(items.filter((item) => /secret|hidden/.test(String(item[key])))).toEqual([]);
    }
    const refusal = async (method: string, params: JsonObject) => {
      const id = `refused ${++asked}`;
      peer.send({ jsonrpc: '2.0', id, method, params });
      return ((await peer.response(id)) as { readonly error?: JsonObject }).error;
    };
    const unknown = askedFor('no-such');
    for (const [at, [method, params]] of askedFor('secret').entries()) {
      const [, other] = unknown[at]!;
      const sought = await refusal(method, params);
      const expected = await refusal(method, other);
      const text = JSON.stringify(expected).replaceAll('no-such', 'secret');
      expect(JSON.stringify(sought)).toBe(text);
    }
    const subscribed = await refusal('resources/subscribe', { uri: 'secret:1' });
    expect(subscribed).toMatchObject({ message: expect.stringContaining('secret:1') as string });
  });
});

describe('a hidden item in 2026-07-28', () => {
  test('is absent, and the rest of the list has a private cache scope', async () => {
    const caching = { ttlMs: 1000, scope: 'public' } as const;
    const serving = serve({ ...hidden(() => false), caching });
    for (const [method, member] of lists) {
      const { [member]: items, cacheScope } = await askModern(serving, method, {});
      expect(JSON.stringify(items)).not.toMatch(/secret|hidden/);
      expect(cacheScope).toBe('private');
    }
    const read = await askModern(serving, 'resources/read', { uri: 'open:1' });
    expect(read['cacheScope']).toBe('private');
  });

  test('causes no notification until it is visible', async () => {
    let isOpen = false;
    const clock = new TestClock();
    const { peer, send, server } = modern(
      hidden(() => isOpen),
      { clock },
    );
    const changed = 'notifications/tools/list_changed';
    const updated = 'notifications/resources/updated';
    send('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourceSubscriptions: ['secret:1', 'open:1'] },
    });
    await peer.notification('notifications/subscriptions/acknowledged');
    server.tools.disable('secret');
    server.tools.enable('secret');
    server.visibilityChanged();
    server.resourceUpdated('secret:1');
    server.resourceUpdated('open:1');
    clock.increment(5000);
    expect((await peer.notification(updated)).params).toMatchObject({ uri: 'open:1' });
    expect([peer.count(changed), peer.count(updated)]).toEqual([0, 1]);
    isOpen = true;
    server.visibilityChanged();
    server.resourceUpdated('secret:1');
    clock.increment(5000);
    await peer.notification(changed);
    expect((await peer.notification(updated)).params).toMatchObject({ uri: 'secret:1' });
  });

  test('cannot be enabled by a handler without a session', async () => {
    const disable = tool('hide', (_, { session }) => {
      session.disable('hide');
      return 'hidden';
    });
    const result = await askModern(serve({ tools: [disable] }), 'tools/call', { name: 'hide' });
    expect(result['isError']).toBe(true);
    expect(JSON.stringify(result)).toContain('use \\"visible\\" of the item instead');
  });
});

describe('an item with a tag', () => {
  test('is visible if the rules of all tags and its own predicate agree', async () => {
    const answers: { [tag: string]: boolean } = { admin: true, beta: false };
    const server = createMcpServer({
      ...{ name: 'tagged', version: '1' },
      visible: { admin: () => answers['admin']!, beta: () => answers['beta']! },
      tools: ['admin', 'beta', 'admin beta', 'other'].map((tags) => ({
        ...tool(tags.replace(' ', '-'), () => ''),
        tags: tags.split(' '),
      })),
    });
    await using client = await testClient(server);
    const names = async () => (await client.listTools()).map(({ name }) => name);
    expect(await names()).toEqual(['admin', 'other']);
    answers['beta'] = true;
    expect(await names()).toEqual(['admin', 'beta', 'admin-beta', 'other']);
  });

  test.each([
    [{ tags: 'admin' }, '"tags" of the tool "t" must be a list of strings, got "admin"'],
    [{ visible: true }, '"visible" of the tool "t" must be a function, got true'],
  ])('is rejected with invalid visibility options: %j', (more, message) => {
    const define = () =>
      defineTool({ name: 't', description: 't', handler: () => '', ...(more as object) });
    expect(define).toThrow(message);
  });
});

describe('a visible predicate', () => {
  test('runs at most once per item and request', async () => {
    let asked = 0;
    const visible = () => ++asked > 0;
    const { peer } = await operate({
      tools: [{ ...tool('t', () => 'done'), visible, taskSupport: 'optional' }],
    });
    await peer.ask('tools/list');
    expect(asked).toBe(1);
    await peer.ask('tools/call', { name: 't' });
    expect(asked).toBe(2);
    await peer.ask('tools/call', { name: 't' });
    expect(asked).toBe(3);
  });

  test.each([
    ['throws', () => JSON.parse('{') as boolean, 'JSON'],
    ['gives a promise', async () => true, 'a boolean synchronously'],
  ])('hides its item and is reported once if it %s', async (_, visible, why) => {
    const tools = [{ ...tool('t', () => ''), visible: visible as Visible }, tool('u', () => '')];
    const { peer, facts } = await operate({ tools });
    for (let n = 0; n < 2; n++) {
      const { tools: listed } = await peer.ask('tools/list');
      expect((listed as JsonObject[]).map(({ name }) => name)).toEqual(['u']);
    }
    const told = facts.all.filter(({ name }) => name === 'visible.failed');
    expect(told).toMatchObject([{ level: 'error', message: expect.stringContaining(why) }]);
    expect(told[0]?.message).toContain('"visible" of "t" failed, so it is hidden');
  });
});

const changed = 'notifications/tools/list_changed';

/** Two clients of one server, each of which has its list. */
async function two(definition: Partial<ServerDefinition>) {
  const server = createMcpServer({ name: 'two', version: '1', ...definition });
  const clients = await Promise.all(
    ['ada', 'bob'].map(async (name) => {
      const clock = new TestClock();
      const client = await testClient(server, { clock, clientInfo: { name, version: '1' } });
      onTestFinished(() => client[Symbol.asyncDispose]());
      await client.listTools();
      return { client, clock };
    }),
  );
  const told = async () => {
    for (const { clock } of clients) clock.increment(5000);
    await flush();
    return clients.map(({ client }) => client.peer.count(changed));
  };
  const [ada, bob] = clients.map(({ client }) => client);
  return { server, told, ada: ada!, bob: bob! };
}

describe('a visibility change notifies', () => {
  test('only the session whose list changed', async () => {
    let who = '';
    const visible: Visible = (viewer) => onlyFor(who)(viewer);
    const { server, told, ada } = await two({ tools: [{ ...tool('t', () => ''), visible }] });
    server.visibilityChanged();
    expect(await told()).toEqual([0, 0]);
    who = 'ada';
    server.visibilityChanged();
    expect(await told()).toEqual([1, 0]);
    await ada.listTools();
    who = 'bob';
    server.visibilityChanged();
    expect(await told()).toEqual([2, 1]);
  });

  test('nobody who cannot see the added or removed item', async () => {
    const { server, told } = await two({
      tools: [{ ...tool('t', () => ''), visible: onlyFor('ada') }],
    });
    server.tools.add({ ...tool('u', () => ''), visible: onlyFor('bob') });
    expect(await told()).toEqual([0, 1]);
    server.tools.remove('t');
    expect(await told()).toEqual([1, 1]);
    server.tools.announce();
    expect(await told()).toEqual([2, 2]);
  });
});

describe('visibility after server.replace', () => {
  const named = { name: 'two', version: '1' };
  const forAll = tool('t', () => 'done');
  const forOne = (who: string) => ({ ...forAll, visible: onlyFor(who) });
  const calls = (...clients: readonly Awaited<ReturnType<typeof two>>['ada'][]) =>
    Promise.all(clients.map((client) => client.callTool('t').catch(String)));
  const done = expect.objectContaining({ text: 'done' }) as unknown;
  const unknown = expect.stringContaining('unknown tool "t"') as unknown;

  test.each([
    ['other callers', [forOne('ada')], [forOne('bob')], [1, 1], [unknown, done]],
    ['the same ones', [forOne('ada')], [forOne('ada')], [0, 0], [done, unknown]],
    ['everybody', [forOne('ada')], [forAll], [0, 1], [done, done]],
    [
      'a caller who loses something else',
      [forOne('ada'), tool('u', () => '')],
      [forOne('ada')],
      [1, 1],
      [done, unknown],
    ],
  ])(
    'notifies clients whose lists changed after items became visible for %s',
    async (_, before, after, told, called) => {
      const found = await two({ tools: before });
      found.server.replace({ ...named, tools: after });
      expect(await found.told()).toEqual(told);
      expect(await calls(found.ada, found.bob)).toEqual(called);
      expect(await found.told()).toEqual(told);
    },
  );

  test('notifies every client whose list may have changed when an item becomes restricted', async () => {
    const { server, told, ada, bob } = await two({ tools: [forAll] });
    server.replace({ ...named, tools: [forOne('ada')] });
    expect((await told())[1]).toBe(1);
    expect(await calls(ada, bob)).toEqual([done, unknown]);
  });

  test('keeps the overrides of a session', async () => {
    const hide = tool('t', (_, { session }) => {
      session.disable('t');
      return 'done';
    });
    const { server, told, ada, bob } = await two({ tools: [hide] });
    await ada.callTool('t');
    expect(await told()).toEqual([1, 0]);
    server.replace({ ...named, tools: [forAll] });
    expect(await calls(ada, bob)).toEqual([unknown, done]);
    expect(await told()).toEqual([1, 0]);
  });

  test('applies the new rules of tags', async () => {
    const tools = [{ ...forAll, tags: ['admin'] }];
    const { server, told, ada, bob } = await two({ tools, visible: { admin: onlyFor('ada') } });
    server.replace({ ...named, tools, visible: { admin: onlyFor('bob') } });
    expect(await told()).toEqual([1, 1]);
    expect(await calls(ada, bob)).toEqual([unknown, done]);
  });
});

everywhere('a session', eachRevisionAndHttp, () => {
  test('shows and hides an item mid-session and notifies the client', async () => {
    const { peer, clock } = await operate({
      tools: [
        tool('more', (_, { session }) => {
          session.enable('extra');
          session.disable('more');
          return 'there is more now';
        }),
        { ...tool('extra', () => 'extra'), visible: () => false },
      ],
    });
    const names = async () =>
      ((await peer.ask('tools/list'))['tools'] as JsonObject[]).map(({ name }) => name);
    expect(await names()).toEqual(['more']);
    await peer.ask('tools/call', { name: 'more' });
    clock.increment(5000);
    await peer.notification(changed);
    expect(await names()).toEqual(['extra']);
    expect(await peer.ask('tools/call', { name: 'extra' })).toMatchObject({ content: [{}] });
  });
});

everywhere('what one session switches', memoryAndHttp, () => {
  test('keeps overrides within their session', async () => {
    const server = createMcpServer({
      ...{ name: 's', version: '1' },
      tools: [
        tool('hide', (_, { session }) => {
          session.disable('hide');
          return '';
        }),
      ],
    });
    const [one, other] = [connect(server), connect(server)];
    for (const { peer } of [one, other]) await peer.handshake();
    await one.peer.ask('tools/call', { name: 'hide' });
    expect((await one.peer.ask('tools/list'))['tools']).toEqual([]);
    expect((await other.peer.ask('tools/list'))['tools']).toHaveLength(1);
    other.clock.increment(5000);
    await other.peer.quiet();
    expect(other.peer.count(changed)).toBe(0);
  });
});

test('rejects an override of an unknown item', async () => {
  const { session } = await operate({ tools: [tool('t', () => '')] });
  expect(() => session.disable('u')).toThrow(
    'The server has no tool, prompt, resource, resource template or skill "u"',
  );
});
