/** What a server closes at the end of a session. */
import type { ClosedSession } from '../../src/server/define/definition.ts';
import { gate, flush } from 'mcp-actors/testing';
import { defineUpstream } from 'mcp-actors/bridge';
import { expect, test } from 'vitest';
import { operate, serve, tool } from '../contract/serving.ts';

test('onClose is called once with why, and closed waits for it', async () => {
  const door = gate();
  const ended: ClosedSession[] = [];
  const { peer, session } = await operate({
    onClose: async (closed) => {
      ended.push(closed);
      await door.pass();
    },
  });
  let isClosed = false;
  void session.closed.then(() => (isClosed = true));
  peer.end();
  await door.arrived();
  await flush();
  expect([session.state, isClosed]).toEqual(['closed', false]);
  door.release();
  expect(await session.closed).toEqual({ kind: 'input-ended' });
  session.shutdown('again');
  expect(ended).toEqual([{ id: session.id, cause: { kind: 'input-ended' } }]);
});

test('onClose that throws is in the log, and the session has ended all the same', async () => {
  const error = new Error('the pool is gone');
  const { session, facts } = await operate({
    onClose: () => {
      throw error;
    },
  });
  session.shutdown('test');
  expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'test' });
  expect(facts.of('close.failed')).toMatchObject([{ level: 'error', details: { error } }]);
});

test('onClose has what the drain has left of its time, and no more', async () => {
  const [running, closing] = [gate(), gate()];
  const hold = tool('hold', async () => {
    await running.pass();
    return 'done';
  });
  const { peer, session, facts, clock } = await operate(
    { tools: [hold], onClose: () => closing.pass() },
    { limits: { drainTimeoutMs: 1000 } },
  );
  void peer.call('hold');
  await running.arrived();
  session.shutdown('test');
  clock.increment(600);
  running.release();
  await closing.arrived();
  clock.increment(399);
  await flush();
  expect(facts.of('close.abandoned')).toEqual([]);
  clock.increment(1);
  await session.closed;
  expect(facts.of('close.abandoned')).toMatchObject([
    { level: 'warning', message: expect.stringContaining('within 400 ms') },
  ]);
  closing.release();
});

test('onClose is called if the session has never begun, because its client said nothing', async () => {
  const kinds: string[] = [];
  const { peer, session } = serve({ onClose: ({ cause }) => kinds.push(cause.kind) });
  peer.end();
  await session.closed;
  expect(kinds).toEqual(['input-ended']);
});

test('the upstream has the whole drain time to end, however little of it is left', async () => {
  const closing = gate();
  const upstream = defineUpstream(() => ({
    capabilities: {},
    request: () => ({}),
    close: () => closing.pass(),
  }));
  const { session, facts, clock } = await operate(
    { upstream },
    { limits: { drainTimeoutMs: 1000 } },
  );
  session.shutdown('test', 0);
  clock.increment(0);
  await closing.arrived();
  clock.increment(999);
  await flush();
  expect(facts.of('close.abandoned')).toEqual([]);
  clock.increment(1);
  await session.closed;
  expect(facts.of('close.abandoned')).toMatchObject([
    { message: expect.stringContaining('upstream has not ended within 1000 ms') },
  ]);
  closing.release();
});
