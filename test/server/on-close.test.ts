/** What a server closes at the end of a session. */
import type { ClosedSession } from '../../src/server/define/definition.ts';
import { gate, flush } from 'mcp-actors/testing';
import { defineUpstream } from 'mcp-actors/bridge';
import { expect, test } from 'vitest';
import { operate, serve, tool } from '../contract/serving.ts';

test('calls onClose once with the cause and awaits it before closed resolves', async () => {
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

test('logs an error of onClose and ends the session', async () => {
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

test('limits onClose to the remaining drain time', async () => {
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

test('calls onClose for a session whose client sent nothing', async () => {
  const kinds: string[] = [];
  const { peer, session } = serve({ onClose: ({ cause }) => kinds.push(cause.kind) });
  peer.end();
  await session.closed;
  expect(kinds).toEqual(['input-ended']);
});

test('gives the upstream the full drain time to close', async () => {
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
    { message: expect.stringContaining('upstream did not finish within 1000 ms') },
  ]);
  closing.release();
});
