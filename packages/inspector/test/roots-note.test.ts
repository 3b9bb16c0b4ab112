/** The page's note on the roots of real sessions. */
import { initialized, rootsChanged, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { waitOf } from '../src/page/attention.ts';
import { rootsNote } from '../src/page/roots-note.ts';
import { withoutChannel } from '../../../test/contract/channel-wire.ts';
import { list, operateRoots, wait } from '../../../test/contract/roots-serving.ts';
import { initialize, operate, serve } from '../../../test/contract/serving.ts';
import { begin, taskTool } from '../../../test/contract/task-serving.ts';

const asked = 'asked for with the next call that needs them: the client has no stream of its own';

test('rootsNote is absent before the query, then reports it as pending, then as answered', async () => {
  const { session, peer } = serve({});
  const note = () => rootsNote(session.dump().roots);
  expect(note()).toBeUndefined();
  peer.send(initialize(1, { capabilities: { roots: {} } }));
  await peer.response(1);
  expect(note()).toBeUndefined();
  peer.send(initialized);
  const query = await peer.request('roots/list');
  expect(note()).toBe('Requested; no answer yet.');
  peer.answer(query, list());
  await peer.quiet();
  expect(note()).toBe('From the client; the list is empty. Generation 1.');
});

test('rootsNote is absent for a client without roots', async () => {
  const { session } = await operate({});
  expect(rootsNote(session.dump().roots)).toBeUndefined();
});

test('rootsNote reports a deferred query for a client without a stream', async () => {
  const { session, peer } = await operateRoots({ connection: withoutChannel() });
  const note = () => rootsNote(session.dump().roots);
  expect(note()).toBe(`Not known; ${asked}.`);
  peer.send(toolCall('a', wait.name));
  peer.answer(await peer.request('roots/list'), list('x'));
  await peer.response('a');
  expect(note()).toBe('From the client. Generation 1.');
  peer.send(rootsChanged);
  await peer.quiet();
  expect(note()).toBe(`From the client; a newer list is ${asked}. Generation 1.`);
});

test('waitOf reports that background work waits for a call able to query the roots', async () => {
  const work = taskTool('work', (_, context) => context.roots().then(() => ''));
  const { session, peer } = await operate(
    { tools: [work] },
    { connection: withoutChannel(), capabilities: { roots: {} } },
  );
  await begin(peer, 'work');
  await peer.quiet();
  const dump = session.dump();
  const [call] = dump.calls;
  expect(call && waitOf(call, dump, 0).words).toBe(`waiting for the roots: ${asked}`);
});
