import { createMcpServer } from 'mcp-actors';
import type { JsonObject, Schema } from 'mcp-actors';
import { cancelled, scriptedConversation, gate, toolCall } from 'mcp-actors/testing';
import { type } from 'arktype';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eachRevisionAndHttp, everywhere } from '../contract/everywhere.ts';
import { echo, operateWarm, textOf, tool } from '../contract/serving.ts';

const method = 'custom/question';

/** Asks with a schema; its text is the result as JSON, or the error's name, code and message. */
const asking = (schema: unknown, options?: object) =>
  tool('ask', async (_, context) => {
    try {
      return JSON.stringify(await context.request(method, {}, schema as Schema, options));
    } catch (error) {
      const { name, code, message } = error as { name: string; code?: string; message: string };
      return JSON.stringify({ name, code, message });
    }
  });
const read = (result: JsonObject | undefined) => JSON.parse(textOf(result)) as JsonObject;

describe('context.request with a schema', () => {
  const schemas = {
    zod: z.object({ n: z.int() }),
    arktype: type({ n: 'number.integer' }),
    'JSON Schema': { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  };

  test.each(Object.entries(schemas))(
    'returns the result validated by %s [CTX-01]',
    async (_, schema) => {
      const { peer } = await operateWarm({ tools: [asking(schema)] });
      peer.send(toolCall(1, 'ask'));
      peer.answer(await peer.request(method), { n: 7 });
      expect(read((await peer.response(1)).result)).toEqual({ n: 7 });
      peer.send(toolCall(2, 'ask'));
      peer.answer(await peer.request(method), { n: 'seven' });
      expect(read((await peer.response(2)).result)).toMatchObject({
        code: 'INVALID_RESPONSE',
        message: expect.stringMatching(
          /result of custom\/question does not conform to the schema: .*n/,
        ) as string,
      });
    },
  );

  test('returns the transformed result [CTX-01]', async () => {
    const { peer } = await operateWarm({
      tools: [asking(z.object({ day: z.string().transform((day) => day.length) }))],
    });
    peer.send(toolCall(1, 'ask'));
    peer.answer(await peer.request(method), { day: 'Monday' });
    expect(read((await peer.response(1)).result)).toEqual({ day: 6 });
  });

  test('sends nothing if the schema is invalid [CTX-01]', async () => {
    const { peer } = await operateWarm({ tools: [asking({ type: 'object', properties: 7 })] });
    expect(read(await peer.call('ask'))).toMatchObject({ name: 'TypeError' });
    expect(peer.count(method)).toBe(0);
  });

  test('applies the timeouts of the options [LIFE-13]', async () => {
    const { peer, clock } = await operateWarm({
      tools: [asking(z.object({}), { timeoutMs: 5 })],
    });
    peer.send(toolCall(1, 'ask'));
    await peer.request(method);
    clock.increment(5);
    expect(read((await peer.response(1)).result)).toMatchObject({ code: 'REQUEST_TIMEOUT' });
  });
});

everywhere('a session', eachRevisionAndHttp, (combination) => {
  test('serves other calls while a hundred calls await their client [CTX-02]', async () => {
    const ask = tool('ask', async (_, context) => {
      const { text } = await context.sample({
        messages: [{ role: 'user', content: String(context.requestId) }],
        maxTokens: 1,
      });
      return text;
    });
    const { peer } = await operateWarm(
      { tools: [ask] },
      { ...combination, capabilities: { sampling: {} } },
    );
    const ids = Array.from({ length: 100 }, (_, n) => n);
    peer.send(...ids.map((id) => toolCall(id, 'ask')));
    const asked = await Promise.all(ids.map(() => peer.request('sampling/createMessage')));
    for (const n of ids) {
      expect(textOf(await peer.call(echo.name, { n }))).toBe(JSON.stringify({ n }));
      const request = asked[(n * 37) % 100];
      if (!request) throw new Error('nothing was asked');
      const [{ content }] = (request.params as JsonObject)['messages'] as [
        { content: { text: string } },
      ];
      const reply = { type: 'text', text: `answer to ${content.text}` };
      peer.answer(request, { role: 'assistant', model: 'm', content: reply });
    }
    for (const id of ids) {
      expect(textOf((await peer.response(id)).result)).toBe(`answer to ${id}`);
    }
  });

  test('exposes the session to its handlers [CTX-03]', async () => {
    const look = tool('look', (_, { session: { id, revision, state } }) =>
      JSON.stringify({ id, revision, state }),
    );
    const { peer, session } = await operateWarm({ tools: [look] }, combination);
    expect(read(await peer.call('look'))).toEqual({
      id: session.id,
      revision: combination.revision,
      state: 'rootsKnown',
    });
    expect(session.state).toBe('rootsKnown');
  });
});

test('releases the slot of a call that awaits its client and reacquires it with the answer [CTX-02] [FLOW-01]', async () => {
  const door = gate();
  const ask = tool('ask', async (_, context) => {
    await Promise.all([context.request(method), context.request(method)]);
    await door.pass();
    return 'asked';
  });
  const hold = tool('hold', async () => {
    await door.pass();
    return 'held';
  });
  const { peer } = await operateWarm({ tools: [ask, hold] }, { limits: { maxRunning: 1 } });
  peer.send(toolCall('ask', 'ask'));
  const [one, other] = [await peer.request(method), await peer.request(method)];
  await peer.call(echo.name);
  peer.answer(one, {});
  await peer.call(echo.name);
  peer.answer(other, {});
  await door.arrived(1);
  peer.send(toolCall('hold', 'hold'));
  await peer.quiet();
  expect(door.arrivals).toBe(1);
  door.release(1);
  expect(textOf((await peer.response('ask')).result)).toBe('asked');
  await door.arrived(2);
  peer.send(toolCall('echo', echo.name, {}));
  await peer.quiet();
  expect(peer.received.some((frame) => (frame as JsonObject)['id'] === 'echo')).toBe(false);
  door.release();
  await peer.response('hold');
  await peer.response('echo');
});

test('frees the slot of a call once if it is cancelled while it awaits its client [CTX-02] [FLOW-01]', async () => {
  const door = gate();
  const ask = tool('ask', async (_, context) => JSON.stringify(await context.request(method)));
  const hold = tool('hold', async () => {
    await door.pass();
    return 'held';
  });
  const { peer } = await operateWarm({ tools: [ask, hold] }, { limits: { maxRunning: 1 } });
  for (const id of [1, 2, 3]) {
    peer.send(toolCall(id, 'ask'));
    await peer.request(method);
    peer.send(cancelled(id));
  }
  peer.send(toolCall('a', 'hold'), toolCall('b', 'hold'));
  await door.arrived(1);
  await peer.quiet();
  expect(door.arrivals).toBe(1);
  door.release();
  await peer.response('b');
});

test('gives each session a unique id and a state until its end [CTX-03]', async () => {
  const server = createMcpServer({ name: 'shared', version: '1' });
  const sessions = Array.from({ length: 10 }, () => scriptedConversation(server).session);
  expect(new Set(sessions.map(({ id }) => id)).size).toBe(10);
  expect(sessions.every(({ state }) => state === 'uninitialized')).toBe(true);
  await Promise.all(sessions.map((session) => session[Symbol.asyncDispose]()));
  expect(sessions.every(({ state }) => state === 'closed')).toBe(true);
});

test('sends a resource update from a handler through its session [CTX-03] [RES-03]', async () => {
  const uri = 'memo://a';
  const touch = tool('touch', (_, { session }) => {
    session.resourceUpdated(uri);
    return '';
  });
  const { peer } = await operateWarm({
    tools: [touch],
    resources: [{ uri, name: 'a', read: () => 'text' }],
  });
  await peer.call('touch');
  await peer.ask('resources/subscribe', { uri });
  await peer.call('touch');
  await peer.notification('notifications/resources/updated');
  expect(peer.count('notifications/resources/updated')).toBe(1);
});
