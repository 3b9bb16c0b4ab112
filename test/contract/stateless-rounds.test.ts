/** Calls of 2026-07-28 that request input, and subscriptions, over every transport. */
import { defineResource, defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { cancelled, enveloped } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { askModern as ask, callModern as call } from './enveloped.ts';
import { modernEverywhereAndHttp, everywhere } from './everywhere.ts';
import { echo, serve, textOf, tool } from './serving.ts';

const form = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
} as const;
const options = { capabilities: { elicitation: { form: {} } } };
const accept = (name: string) => ({ action: 'accept', content: { name } });

const couple = defineTool({
  name: 'couple',
  description: 'Asks for two names.',
  handler: async (_, context) => {
    const answers = await Promise.all(
      ['First?', 'Second?'].map((message) => context.elicit({ message, schema: form })),
    );
    return answers
      .map((each) => (each.action === 'accept' ? each.content.name : '?'))
      .join(' and ');
  },
});

everywhere('a call that requests input', modernEverywhereAndHttp, () => {
  test('ends a call with its input requests and state, and answers the retry [ROUNDS-01]', async () => {
    const serving = serve({ tools: [couple] });
    const { peer } = serving;
    const asking = await call(serving, 'couple', {}, options);
    expect(asking).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        q1: { method: 'elicitation/create', params: { message: 'First?' } },
        q2: { method: 'elicitation/create', params: { message: 'Second?' } },
      },
      requestState: expect.any(String) as string,
    });
    const retry = {
      name: 'couple',
      arguments: {},
      requestState: asking['requestState'],
      inputResponses: { q1: accept('Ada'), q2: accept('Bob') },
    };
    expect(textOf(await ask(serving, 'tools/call', retry, options))).toBe('Ada and Bob');
    expect(peer.count('elicitation/create')).toBe(0);
  });

  test('repeats unanswered input requests, and ignores unknown answers [ROUNDS-02]', async () => {
    const serving = serve({ tools: [couple] });
    const retry = ({ requestState }: JsonObject, inputResponses: JsonObject) =>
      ask(
        serving,
        'tools/call',
        { name: 'couple', arguments: {}, requestState, inputResponses },
        options,
      );
    const first = await call(serving, 'couple', {}, options);
    const second = await retry(first, { q2: accept('Bob'), other: 7 });
    expect(second['resultType']).toBe('input_required');
    expect(Object.keys(second['inputRequests'] as object)).toEqual(['q1']);
    expect(textOf(await retry(second, { q1: accept('Ada') }))).toBe('Ada and Bob');
  });
});

const acknowledged = 'notifications/subscriptions/acknowledged';
const toolsChanged = 'notifications/tools/list_changed';
const updated = 'notifications/resources/updated';
const idKey = 'io.modelcontextprotocol/subscriptionId';

everywhere('a subscription', modernEverywhereAndHttp, () => {
  const resource = (uri: string) => defineResource({ uri, name: uri, read: () => uri });

  /** A client with a subscription, on a connection that has already answered a request. */
  const listening = async (notifications: JsonObject) => {
    const resources = [resource('test://a'), resource('test://b')];
    const serving = serve({ tools: [echo], resources });
    await call(serving, 'echo');
    serving.peer.send(enveloped(0, 'subscriptions/listen', { notifications }));
    const first = await serving.peer.notification(acknowledged);
    return { ...serving, first };
  };

  test('acknowledges a subscription with the supported part of its filter first [LISTEN-01]', async () => {
    const filter = { toolsListChanged: true, promptsListChanged: true };
    const { peer, first, server, clock } = await listening(filter);
    expect(first.params).toEqual({
      _meta: { [idKey]: 0 },
      notifications: { toolsListChanged: true },
    });
    server.tools.add(tool('new', () => 'new'));
    clock.increment(1000);
    await peer.notification(toolsChanged);
    const methods = (peer.received as readonly JsonObject[]).flatMap(({ method }) => method ?? []);
    expect(methods).toEqual([acknowledged, toolsChanged]);
  });

  test("sends selected changes only, with the subscription's id [LISTEN-02]", async () => {
    const { peer, session, server, clock } = await listening({
      resourceSubscriptions: ['test://b'],
    });
    for (const uri of ['test://a', 'test://b', 'test://c']) session.resourceUpdated(uri);
    server.tools.add(tool('new', () => 'new'));
    clock.increment(1000);
    const told = await peer.notification(updated);
    expect(told.params).toEqual({ _meta: { [idKey]: 0 }, uri: 'test://b' });
    await peer.quiet();
    expect([peer.count(updated), peer.count(toolsChanged)]).toEqual([1, 0]);
  });

  test('sends nothing after the client has cancelled the subscription [LISTEN-03]', async () => {
    const { peer, session } = await listening({ resourceSubscriptions: ['test://a'] });
    const before = peer.received.length;
    peer.send(cancelled(0));
    await peer.quiet();
    session.resourceUpdated('test://a');
    await peer.quiet();
    const more = (peer.received.slice(before) as readonly JsonObject[]).filter(
      ({ id }) => !String(id).startsWith('peer-'),
    );
    expect(more).toEqual([]);
  });

  test('ends a subscription with a result and its id, without a cancellation [LISTEN-04]', async () => {
    const { peer, session } = await listening({ toolsListChanged: true });
    session.shutdown('the test is over');
    expect((await peer.response(0)).result).toMatchObject({
      resultType: 'complete',
      _meta: { [idKey]: 0 },
    });
    await session.closed;
    expect(peer.count('notifications/cancelled')).toBe(0);
  });
});
