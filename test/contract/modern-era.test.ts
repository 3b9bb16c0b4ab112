/** The era without a handshake, over every transport, independent of it. */
import { ToolError } from 'mcp-actors';
import type { HandlerContext, JsonObject } from 'mcp-actors';
import { gate, isRequestFrame } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { everywhere, modernEverywhere, modernEverywhereAndHttp } from './everywhere.ts';
import { echo, operate, serve, textOf, tool } from './serving.ts';

const person = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
} as const;

const greet = tool('greet', async (_, context) => {
  const answer = await context.elicit({ message: 'Who are you?', schema: person });
  return answer.action === 'accept' ? `Hello ${answer.content.name}` : answer.action;
});

const capabilities = { elicitation: { form: {} } };

everywhere('calls', modernEverywhereAndHttp, () => {
  test('answers requests in the order in which they finish, marked as complete', async () => {
    const door = gate();
    const hold = tool('hold', async () => {
      await door.pass();
      return 'held';
    });
    const { peer } = await operate({ tools: [hold, echo] });
    peer.send(
      peer.compose(1, 'tools/call', { name: 'hold' }),
      peer.compose(2, 'tools/call', { name: 'echo', arguments: { a: 1 } }),
    );
    expect((await peer.response(2)).result).toMatchObject({ resultType: 'complete' });
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held');
  });

  test('isolates failing requests from others', async () => {
    const fails = tool('fails', () => {
      throw new ToolError('Try a shorter path');
    });
    const { peer } = await operate({ tools: [fails, echo] });
    expect(await peer.call('fails')).toMatchObject({ isError: true, resultType: 'complete' });
    await expect(peer.call('nothing')).rejects.toMatchObject({ error: { code: -32602 } });
    expect(textOf(await peer.call('echo', { a: 1 }))).toBe('{"a":1}');
  });

  test('rejects requests beyond the limits with an allowed code, and accepts them again later', async () => {
    const door = gate();
    const hold = tool('hold', async () => {
      await door.pass();
      return 'held';
    });
    const limits = { maxRunning: 1, maxWaiting: 0 };
    const { peer } = await operate({ tools: [hold, echo] }, { limits });
    await peer.call('echo');
    const call = (id: number) => peer.compose(id, 'tools/call', { name: 'hold' });
    peer.send(call(1), call(2));
    expect(await peer.error(2)).toMatchObject({
      code: -32603,
      data: { reason: 'overloaded', retryable: true },
    });
    door.release();
    await peer.response(1);
    peer.send(call(2));
    expect(textOf((await peer.response(2)).result)).toBe('held');
  });

  test.each(['keep', 'replay'] as const)(
    'resumes a call that requested input with its retry (%s)',
    async (resume) => {
      const { peer } = await operate({ tools: [greet] }, { resume, capabilities });
      const { requestState, inputRequests } = await peer.call('greet');
      const [key] = Object.keys(inputRequests as JsonObject) as [string];
      const retry = (content: JsonObject) => ({
        ...{ name: 'greet', requestState },
        inputResponses: { [key]: { action: 'accept', content } },
      });
      const malformed = peer.ask('tools/call', retry({ name: 7 }));
      await expect(malformed).rejects.toMatchObject({ error: { code: -32602 } });
      expect(textOf(await peer.ask('tools/call', retry({ name: 'Ada' })))).toBe('Hello Ada');
      expect(peer.received.filter(isRequestFrame)).toEqual([]);
    },
  );

  const result = {
    type: 'object',
    properties: { roots: { type: 'array', maxItems: 1 } },
  } as const;
  const asks = {
    roots: async ({ roots }) => (await roots()).roots.length,
    raw: ({ request }) => request('roots/list', undefined, result, { probe: true }),
    sampling: async ({ sample }) => (await sample({ messages: [], maxTokens: 1 })).text,
    url: ({ elicitUrl }) => elicitUrl({ message: 'Open it', url: 'https://example.com' }),
  } satisfies { readonly [kind: string]: (context: HandlerContext) => unknown };
  const sampled = { role: 'assistant', model: 'm' };
  const good = { roots: [{ uri: 'file:///a' }] };
  test.each<[keyof typeof asks, JsonObject, JsonObject, string]>([
    [
      'roots',
      { roots: [{}] },
      good,
      'result.roots[0]: A root must be an object with a string "uri"',
    ],
    ['roots', { roots: [...good.roots, 7] }, good, 'result.roots[1]'],
    ['raw', { roots: [...good.roots, { uri: 'file:///b' }] }, good, 'does not conform'],
    [
      'sampling',
      { ...sampled, content: [{ type: 'text' }] },
      { ...sampled, content: { type: 'text', text: 'hello' } },
      'content[0]',
    ],
    ['url', { action: 'perhaps' }, { action: 'accept' }, 'must have "action"'],
  ])(
    'rejects an invalid answer to %s, and continues with a valid one (%#)',
    async (kind, bad, better, why) => {
      const asker = tool('asks', async (_, context) => JSON.stringify(await asks[kind](context)));
      const able = { roots: {}, sampling: {}, elicitation: { url: {} } };
      const { peer } = await operate({ tools: [asker] }, { capabilities: able });
      const { requestState, inputRequests } = await peer.call('asks');
      const [key] = Object.keys(inputRequests as JsonObject) as [string];
      const retry = (answer: JsonObject) =>
        peer.ask('tools/call', { name: 'asks', requestState, inputResponses: { [key]: answer } });
      await expect(retry(bad)).rejects.toMatchObject({
        error: { code: -32602, message: expect.stringContaining(why) as string },
      });
      expect(await retry(better)).toMatchObject({ resultType: 'complete' });
    },
  );
});

everywhere('an initialize in an envelope', modernEverywhere, () => {
  test('rejects a request of no era, without deciding the era', async () => {
    const { peer, session } = serve({ tools: [echo] });
    const params = { protocolVersion: '2025-11-25', capabilities: {} };
    const clientInfo = { name: 'odd', version: '1' };
    await expect(peer.ask('initialize', { ...params, clientInfo })).rejects.toMatchObject({
      error: {
        code: -32601,
        message: expect.stringContaining('"initialize" must not name') as string,
      },
    });
    expect(session.state).toBe('uninitialized');
    await peer.call('echo');
    expect(session.state).toBe('modern');
  });
});

// Over HTTP no session code runs before the first message.
everywhere('discovery', modernEverywhere, () => {
  test('answers ping at any time, without deciding the era', async () => {
    const { peer, session } = serve({ tools: [echo] });
    const found = await peer.handshake();
    expect(found).toMatchObject({ supportedVersions: ['2026-07-28'] });
    expect(session.state).toBe('uninitialized');
    await peer.call('echo');
    expect(session.state).toBe('modern');
    expect(await peer.handshake()).toEqual(found);
  });
});
