/** subscriptions/listen: what a client is told, in which order, and how it ends. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createMcpServer, defineResource, defineTool, explainDump } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { TestClock, testClient, flush } from '../../packages/testing/src/index.ts';
import { modern } from './modern-peer.ts';

const tool = (name: string) => defineTool({ name, description: name, handler: () => name });
const resource = (uri: string) => defineResource({ uri, name: uri, read: () => uri });
const all = {
  tools: [tool('a')],
  resources: [resource('test://a'), resource('test://b')],
};
const acknowledged = 'notifications/subscriptions/acknowledged';
const toolsChanged = 'notifications/tools/list_changed';
const updated = 'notifications/resources/updated';
const idKey = 'io.modelcontextprotocol/subscriptionId';

/** A client that listens for what the filter says. */
function listening(notifications: JsonObject, options: Parameters<typeof modern>[1] = {}) {
  const clock = new TestClock();
  const client = modern(all, { clock, ...options });
  const listen = (filter: JsonObject) =>
    client.send('subscriptions/listen', { notifications: filter });
  return { ...client, clock, listen, id: listen(notifications) };
}

const metaOf = ({ params }: { readonly params?: JsonObject | undefined }) =>
  params?.['_meta'] as JsonObject | undefined;

describe('a subscription', () => {
  test('is acknowledged first with the served part of its filter', async () => {
    const { peer, id } = listening({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: false,
      resourceSubscriptions: ['test://a', 'test://a'],
    });
    const first = await peer.notification(acknowledged);
    expect(first.params).toEqual({
      _meta: { [idKey]: id },
      notifications: { toolsListChanged: true, resourceSubscriptions: ['test://a'] },
    });
  });

  test('receives only its list changes, debounced', async () => {
    const { peer, id, clock, server, session } = listening({ toolsListChanged: true });
    await peer.notification(acknowledged);
    server.tools?.add(tool('b'));
    server.tools?.add(tool('c'));
    session.resourceUpdated('test://a');
    clock.increment(50);
    const told = await peer.notification(toolsChanged);
    expect(told.params).toEqual({ _meta: { [idKey]: id } });
    await flush();
    expect([peer.count(toolsChanged), peer.count(updated)]).toEqual([1, 0]);
  });

  test('receives only updates of its resources', async () => {
    const { peer, id, session } = listening({ resourceSubscriptions: ['test://b'] });
    await peer.notification(acknowledged);
    for (const uri of ['test://a', 'test://b', 'test://c']) session.resourceUpdated(uri);
    const told = await peer.notification(updated);
    expect(told.params).toEqual({ _meta: { [idKey]: id }, uri: 'test://b' });
    await flush();
    expect(peer.count(updated)).toBe(1);
  });

  test('receives notifications with its own subscription id [LISTEN-07]', async () => {
    const { peer, id, listen, session } = listening({ resourceSubscriptions: ['test://a'] });
    const other = listen({ resourceSubscriptions: ['test://a', 'test://b'] });
    await peer.notification(acknowledged);
    await peer.notification(acknowledged);
    session.resourceUpdated('test://a');
    session.resourceUpdated('test://b');
    const told = [];
    for (let n = 0; n < 3; n++) told.push(await peer.notification(updated));
    expect(told.map((each) => [metaOf(each)?.[idKey], each.params?.['uri']])).toEqual([
      [id, 'test://a'],
      [other, 'test://a'],
      [other, 'test://b'],
    ]);
  });

  test('receives nothing after its client cancels it', async () => {
    const { peer, id, session, listen } = listening({ resourceSubscriptions: ['test://a'] });
    await peer.notification(acknowledged);
    const cancelled = 'notifications/cancelled';
    peer.send({ jsonrpc: '2.0', method: cancelled, params: { requestId: id } });
    session.resourceUpdated('test://a');
    const next = listen({ resourceSubscriptions: ['test://a'] });
    await peer.notification(acknowledged);
    session.resourceUpdated('test://a');
    expect(metaOf(await peer.notification(updated))?.[idKey]).toBe(next);
    expect(peer.count(updated)).toBe(1);
  });

  test('receives no changes of the turn in which it is cancelled', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const { peer, id, session } = listening({ resourceSubscriptions: ['test://a'] });
    await peer.notification(acknowledged);
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    session.resourceUpdated('test://a');
    await flush();
    expect(warn).not.toHaveBeenCalled();
  });

  test('ends with a result that carries its id when the session ends', async () => {
    const { peer, id, session } = listening({ toolsListChanged: true });
    await peer.notification(acknowledged);
    session.shutdown('the test is over');
    const response = await peer.response(id);
    expect(response).toMatchObject({ result: { resultType: 'complete', _meta: { [idKey]: id } } });
    await session.closed;
  });

  test('does not occupy a call slot or delay the drain', async () => {
    const { peer, ask, session } = listening(
      { toolsListChanged: true },
      { limits: { maxRunning: 1 } },
    );
    await peer.notification(acknowledged);
    const result = await ask('tools/call', { name: 'a' });
    expect(result).toMatchObject({ content: [{ text: 'a' }] });
    expect(explainDump(session.dump()).join(' ')).not.toMatch(/task|stuck/);
  });
});

describe('a client that does not read', () => {
  test('receives each distinct change once when it reads again [LISTEN-06]', async () => {
    const { peer, wire, session, id } = listening(
      { resourceSubscriptions: ['test://a', 'test://b'] },
      { limits: { maxOutboundBytes: 1 } },
    );
    await peer.notification(acknowledged);
    wire.stopReading();
    // These go out, and nobody reads them.
    for (const uri of ['test://a', 'test://a']) {
      session.resourceUpdated(uri);
      await flush();
    }
    for (let n = 0; n < 1000; n++) session.resourceUpdated(n % 2 ? 'test://a' : 'test://b');
    await flush();
    wire.resumeReading();
    const told = [];
    for (let n = 0; n < 4; n++) told.push((await peer.notification(updated)).params?.['uri']);
    expect(told).toEqual(['test://a', 'test://a', 'test://b', 'test://a']);
    await flush();
    expect(peer.count(updated)).toBe(4);
    expect(id).toBe(1);
  });

  test('cannot exceed the subscription limit, and each subscription queues a change once [LISTEN-06]', async () => {
    const limits = { maxOutboundBytes: 4096, maxSubscriptions: 100 };
    const { peer, wire, session, server, clock, listen } = listening(
      { toolsListChanged: true },
      { limits },
    );
    await peer.notification(acknowledged);
    wire.stopReading();
    const ids = Array.from({ length: 1500 }, () => listen({ toolsListChanged: true }));
    await flush();
    for (let round = 0; round < 50; round++) {
      server.tools.add(tool(`new-${round}`));
      clock.increment(1000);
      await flush();
    }
    expect(session.dump().queues.holds).toContain('output');
    const subscriptions = () => session.dump().calls.filter(({ state }) => state === 'parked');
    expect(subscriptions()).toHaveLength(limits.maxSubscriptions);
    wire.resumeReading();
    const refused = ids.slice(limits.maxSubscriptions - 1);
    for (const id of refused) {
      const { reason } = (await peer.error(id)).data as JsonObject;
      expect(['too-many-subscriptions', 'overloaded']).toContain(reason);
    }
    await flush();
    // Fifty changes are one for each.
    expect([peer.count(acknowledged), peer.count(toolsChanged)]).toEqual([100, 100]);
    expect(session.dump().queues).toMatchObject({
      waiting: { count: 0 },
      outboundBytes: { count: 0 },
    });
    expect(subscriptions()).toHaveLength(limits.maxSubscriptions);
  });
});

describe('a filter', () => {
  test.each([
    [undefined, /"notifications" must be an object/],
    [{ toolsListChanged: 1 }, /"notifications.toolsListChanged" must be a boolean, got 1/],
    [{ resourceSubscriptions: 'x' }, /"notifications.resourceSubscriptions" must be an array/],
    [{ resourceSubscriptions: ['test://a', 7] }, /resourceSubscriptions\[1\]" must be a URI/],
    [{ resourceSubscriptions: ['no uri'] }, /resourceSubscriptions\[0\]" must be a URI/],
    [
      { resourceSubscriptions: Array.from({ length: 100_000 }, (_, at) => `no uri ${at}`) },
      /resourceSubscriptions" must have at most 1024 distinct items, got 100000/,
    ],
  ])(
    'is rejected with -32602 and the member name if malformed: %j [LISTEN-05]',
    async (notifications, message) => {
      const { ask } = modern(all);
      const error = await ask('subscriptions/listen', { notifications });
      expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(message) });
    },
  );

  test('ignores a __proto__ member', async () => {
    const { peer, send } = modern(all);
    send('subscriptions/listen', {
      notifications: JSON.parse('{"__proto__":{"toolsListChanged":true}}') as JsonObject,
    });
    expect((await peer.notification(acknowledged)).params?.['notifications']).toEqual({});
  });

  test('cannot exceed the limit across subscriptions [LISTEN-06]', async () => {
    const { ask, send, peer } = modern(all, { limits: { maxSubscriptions: 3 } });
    send('subscriptions/listen', { notifications: { resourceSubscriptions: ['test://a'] } });
    await peer.notification(acknowledged);
    const notifications = { resourceSubscriptions: ['test://b'] };
    const error = await ask('subscriptions/listen', { notifications });
    expect(error['message']).toMatch(/has 2 of at most 3 and requests 2 more/);
  });
});

test('rejects subscriptions/listen from a client with a session', async () => {
  const client = await testClient(createMcpServer({ name: 'server', version: '1', ...all }));
  onTestFinished(() => client.close());
  const refused = client.peer.ask('subscriptions/listen', { notifications: {} });
  await expect(refused).rejects.toThrow('-32601');
});
