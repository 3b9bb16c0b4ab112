import { createMcpServer, defineResource, defineResourceTemplate } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { eachRevisionAndHttp, everywhere } from '../contract/everywhere.ts';
import { connect, operate } from '../contract/serving.ts';

const notes = defineResource({
  uri: 'test://notes',
  name: 'notes',
  title: 'Notes',
  description: 'Some notes',
  mimeType: 'text/plain',
  read: () => 'hello',
});

const picture = defineResource({
  uri: 'test://picture',
  name: 'picture',
  read: async () => await Promise.resolve([{ uri: 'test://picture#1', blob: 'AAAA' }]),
});

const broken = defineResource({
  uri: 'test://broken',
  name: 'broken',
  read: () => {
    throw new Error('the password is 1234');
  },
});

const resources = [notes, picture, broken];

everywhere('resources', eachRevisionAndHttp, ({ revision }) => {
  test('declares resources with subscribe and listChanged [RES-04]', async () => {
    const { peer, session } = await operate({ resources }, { revision });
    await peer.quiet();
    const reply = peer.received[0] as { readonly result: { readonly capabilities: object } };
    expect(reply.result.capabilities).toEqual({
      resources: { subscribe: true, listChanged: true },
    });
    expect(session.actor.getSnapshot().context.client?.dialect.version).toBe(revision);
  });

  test('lists resources with the members of the revision [RES-01] [TOOLS-05]', async () => {
    const { peer } = await operate({ resources: [notes] }, { revision });
    const { uri, name, title, description, mimeType } = notes;
    expect(await peer.ask('resources/list')).toEqual({
      resources: [
        { uri, name, description, mimeType, ...(revision >= '2025-06-18' ? { title } : {}) },
      ],
    });
    expect(await peer.ask('resources/templates/list')).toEqual({ resourceTemplates: [] });
  });

  test('reads resources as text or base64 [RES-01]', async () => {
    const { peer } = await operate({ resources }, { revision });
    expect(await peer.ask('resources/read', { uri: 'test://notes' })).toEqual({
      contents: [{ uri: 'test://notes', mimeType: 'text/plain', text: 'hello' }],
    });
    expect(await peer.ask('resources/read', { uri: 'test://picture' })).toEqual({
      contents: [{ uri: 'test://picture#1', blob: 'AAAA' }],
    });
  });

  test('answers an unknown resource with -32002 and its URI [RES-02]', async () => {
    const { peer } = await operate({ resources }, { revision });
    for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe']) {
      await expect(peer.ask(method, { uri: 'test://nothing' })).rejects.toMatchObject({
        error: { code: -32002, data: { uri: 'test://nothing' } },
      });
      await expect(peer.ask(method, {})).rejects.toMatchObject({ error: { code: -32602 } });
    }
  });

  test('notifies subscribers of resource changes until they unsubscribe [RES-03]', async () => {
    const { peer, session } = await operate({ resources }, { revision });
    const updated = 'notifications/resources/updated';
    session.resourceUpdated('test://notes');
    await peer.quiet();
    expect(peer.count(updated)).toBe(0);

    await peer.ask('resources/subscribe', { uri: 'test://notes' });
    await peer.ask('resources/subscribe', { uri: 'test://notes' });
    session.resourceUpdated('test://notes');
    session.resourceUpdated('test://picture');
    expect((await peer.notification(updated)).params).toEqual({ uri: 'test://notes' });

    await peer.ask('resources/unsubscribe', { uri: 'test://notes' });
    session.resourceUpdated('test://notes');
    await peer.quiet();
    expect(peer.count(updated)).toBe(1);
  });
});

test('limits the bytes of subscribed URIs', async () => {
  const any = defineResourceTemplate({
    uriTemplate: 'any://{name}',
    name: 'any',
    read: () => 'anything',
  });
  const { peer, session } = await operate(
    { resourceTemplates: [any] },
    { limits: { maxRetainedBytes: 3000 } },
  );
  const uriOf = (name: string) => `any://${name}${'x'.repeat(1000)}`;
  const subscribe = (name: string) => peer.ask('resources/subscribe', { uri: uriOf(name) });
  await subscribe('a');
  await subscribe('a');
  await subscribe('b');
  await expect(subscribe('c')).rejects.toMatchObject({
    error: { data: { reason: 'too-many-subscriptions' } },
  });
  expect(session.dump().queues.retainedBytes).toEqual({ count: 2014, max: 3000 });
  await peer.ask('resources/unsubscribe', { uri: uriOf('a') });
  await subscribe('c');
});

describe('a listed resource', () => {
  test('answers only its own request with -32603 if read fails [FLOW-04]', async () => {
    const { peer } = await operate({ resources });
    await expect(peer.ask('resources/read', { uri: 'test://broken' })).rejects.toMatchObject({
      error: { code: -32603, message: 'Internal error' },
    });
    expect(await peer.ask('resources/read', { uri: 'test://notes' })).toHaveProperty('contents');
  });

  test('rejects a cursor that was never issued [TOOLS-07]', async () => {
    const { peer } = await operate({ resources });
    for (const method of ['resources/list', 'resources/templates/list']) {
      await expect(peer.ask(method, { cursor: 'x' })).rejects.toMatchObject({
        error: { code: -32602 },
      });
    }
  });

  test('is not announced after the end of the session [RES-03]', async () => {
    const { peer, session } = await operate({ resources });
    await peer.ask('resources/subscribe', { uri: 'test://notes' });
    session.shutdown('enough');
    await session.closed;
    session.resourceUpdated('test://notes');
    expect(peer.count('notifications/resources/updated')).toBe(0);
  });
});

describe('resources of two sessions', () => {
  test('have independent subscriptions [RES-03]', async () => {
    const server = createMcpServer({ name: 'shared', version: '1', resources });
    const [one, other] = [connect(server), connect(server)];
    await one.peer.handshake();
    await other.peer.handshake();
    await one.peer.ask('resources/subscribe', { uri: 'test://notes' });
    one.session.resourceUpdated('test://notes');
    other.session.resourceUpdated('test://notes');
    await one.peer.notification('notifications/resources/updated');
    await other.peer.quiet();
    expect(other.peer.count('notifications/resources/updated')).toBe(0);
  });
});
