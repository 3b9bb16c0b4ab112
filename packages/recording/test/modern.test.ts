/** Sessions of 2026-07-28, recorded and played: rounds, subscriptions and tools that are machines. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { readRecording, record, replay } from 'mcp-actors/recording';
import { scriptedConversation, flush } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import { bookingMachine } from '../../../examples/booking/booking.machine.ts';
import { everything, modernPeer } from '../../../test/server/modern-peer.ts';
import { askName, expectSame, form, linesOf, roots } from './recorded-session.ts';

const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content });

/** Two questions, the second after the answer to the first; kept is what it has made only once. */
const twice = defineTool({
  name: 'twice',
  description: 'Asks twice.',
  handler: async (_, context) => {
    await context.once('made', () => 'kept by the state');
    const names: unknown[] = [];
    for (const message of ['First?', 'Second?']) {
      const answer = await context.elicit({ message, schema: form });
      names.push(answer.action === 'accept' ? answer.content.name : answer.action);
      context.progress(names.length);
    }
    return names.join(' and ');
  },
});

const book = defineTool({
  name: 'book',
  description: 'Books a table.',
  inputSchema: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
  machine: bookingMachine,
});

const opening = defineTool({
  name: 'opening',
  description: 'Needs a page to be opened.',
  handler: async (_, context) => {
    throw context.urlElicitationRequired([{ message: 'Sign in', url: 'https://example.com/a' }]);
  },
});

const definition = {
  name: 'recorded',
  version: '1',
  tools: [
    twice,
    book,
    opening,
    roots,
    { ...twice, name: 'never-again', replay: false },
    defineTool({ name: 'ask', description: 'Asks.', handler: askName as never }),
  ],
};

/** A session that is recorded. */
function modernSession(options: { readonly resume?: 'replay' } = {}) {
  const server = createMcpServer(definition);
  let text = '';
  const environment = record({ write: (more) => (text += more) });
  const { session, peer } = scriptedConversation(server, {
    ...options,
    environment,
    limits: { listChangedQuietMs: 0 },
  });
  onTestFinished(() => {
    if (session.actor.getSnapshot().status === 'active') session.shutdown('the test is over');
  });
  return {
    ...modernPeer(peer),
    peer,
    server,
    text: () => text,
    finish: async () => {
      await flush();
      peer.end();
      await session.closed;
      await flush();
      return readRecording(text, 'recording.jsonl');
    },
  };
}

/** Calls a tool, and answers what it asks, in order. */
async function answered(
  { ask }: Pick<ReturnType<typeof modernPeer>, 'ask'>,
  params: JsonObject,
  answers: readonly JsonObject[],
): Promise<JsonObject> {
  let result = await ask('tools/call', params, everything, { progressToken: 'first' });
  for (const answer of answers) {
    const [key] = Object.keys(result['inputRequests'] as object) as [string];
    const { requestState } = result;
    const retry = { ...params, requestState, inputResponses: { [key]: answer } };
    result = await ask('tools/call', retry, everything, { progressToken: 'later' });
  }
  return result;
}

const twoNames = [accept({ name: 'Ada' }), accept({ name: 'Grace' })];
const params = { name: 'twice', arguments: {} };
const booking = { name: 'book', arguments: { day: 'Monday' } };
const bookingAnswers = [
  accept({ people: 3 }),
  accept({ back: true }),
  accept({ people: 4 }),
  accept({ seating: 'terrace' }),
  accept({ name: 'Ada' }),
];

test('replays rounds, a subscription, a cancellation and a machine without the state key', async () => {
  const modern = modernSession();
  const { ask, peer, send, server } = modern;
  await ask('server/discover', {});
  const listening = send('subscriptions/listen', { notifications: { toolsListChanged: true } });
  await peer.notification('notifications/subscriptions/acknowledged');
  expect(await answered(modern, params, twoNames)).toMatchObject({
    content: [{ text: 'Ada and Grace' }],
  });
  expect(await answered(modern, booking, bookingAnswers)).toMatchObject({
    content: [{ text: expect.stringContaining('Booked for 4') }],
  });
  server.tools.add({ ...twice, name: 'another' });
  await peer.notification('notifications/tools/list_changed');
  await answered(modern, { name: 'roots', arguments: {} }, [{ roots: [{ uri: 'file:///a' }] }]);
  await answered(modern, { name: 'opening', arguments: {} }, []);
  // A malformed answer, a state of nobody's, and a client that lacks what is asked.
  const { requestState } = await ask('tools/call', params);
  const malformed = { ...params, requestState, inputResponses: { q1: accept({ name: 7 }) } };
  expect(await ask('tools/call', malformed)).toMatchObject({ code: -32602 });
  const forged = { ...params, requestState: 'forged', inputResponses: {} };
  expect(await ask('tools/call', forged)).toMatchObject({ code: -32602 });
  expect(await ask('tools/call', params, {})).toMatchObject({ code: -32021 });
  // One is cancelled while it is open, the other while it waits.
  const gone = send('tools/call', params);
  peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: gone } });
  await ask('tools/call', params);
  peer.send({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: listening },
  });
  await ask('tools/list', {});

  const recording = await modern.finish();
  expect(modern.text()).toContain('"machine":"subscription","subscription":1');
  await expectSame(recording);
  // What a state keeps for its handler stays in the sealed state.
  expect(modern.text()).not.toContain('kept by the state');
});

test('replays a recorded conversation with live handlers', async () => {
  const modern = modernSession();
  await answered(modern, { name: 'ask', arguments: {} }, [accept({ name: 'Ada' })]);
  await answered(modern, booking, bookingAnswers);
  await expectSame(await modern.finish(), { server: createMcpServer(definition) });
});

test('replays a call whose handler is run again, and one whose tool forbids that', async () => {
  const modern = modernSession({ resume: 'replay' });
  expect(await answered(modern, params, twoNames)).toMatchObject({
    content: [{ text: 'Ada and Grace' }],
  });
  await answered(modern, booking, bookingAnswers);
  const forbidden = { name: 'never-again', arguments: {} };
  expect(await answered(modern, forbidden, twoNames.slice(0, 1))).toMatchObject({ isError: true });
  await expectSame(await modern.finish());
});

test('reports a changed answer as a difference', async () => {
  const modern = modernSession();
  await answered(modern, params, twoNames);
  await modern.finish();
  const changed = modern.text().replace(/("server":.*)Ada and Grace/, '$1nobody');
  const { difference } = await replay(readRecording(changed, 'changed.jsonl'));
  expect(difference?.problem).toBe('the replay sends a frame otherwise than the recorded session');
});

test('redacts a secret in an answer, and the recording still replays', async () => {
  const modern = modernSession();
  const secret = 'ghp_0123456789abcdefABCDEF0123456789abcd';
  await answered(modern, params, [accept({ name: secret }), accept({ name: 'Ada' })]);
  const recording = await modern.finish();
  expect(linesOf(modern.text()).some((line) => line['for'] === 'open')).toBe(true);
  expect(modern.text()).not.toContain(secret);
  await expectSame(recording);
});
