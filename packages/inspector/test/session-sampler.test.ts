/** Sampling of a session whose machines move often. */
import { createMcpServer, memory } from 'mcp-actors';
import type { WatchedSession } from 'mcp-actors';
import { ScriptedPeer, TestClock } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import type { TransitionEvent } from '../src/page-messages.ts';
import { SessionSampler } from '../src/session-sampler.ts';
import type { SessionSample } from '../src/session-sampler.ts';
import { tool } from '../../../test/contract/serving.ts';

async function sampled() {
  const work = { ...tool('work', () => 'done'), taskSupport: 'optional' } as const;
  const endless = { ...tool('endless', () => new Promise(() => {})), taskSupport: 'optional' };
  const fails = tool('fails', () => {
    throw new Error('there is no such file');
  });
  const tools = [work, fails, endless as never];
  const server = createMcpServer({ name: 'n', version: '1', tools });
  const { transport, peer: wire } = memory();
  let watched: WatchedSession | undefined;
  const session = server.listen(transport, {
    clock: new TestClock(),
    report: () => {},
    limits: { maxTasks: 200, maxKeptTasks: 200 },
    watchers: [(each) => (watched = each)],
  });
  const peer = new ScriptedPeer(wire);
  await peer.handshake();
  const sampler = new SessionSampler(watched as WatchedSession);
  const create = async (name: string) => {
    const { task } = await peer.ask('tools/call', { name, arguments: {}, task: {} });
    return (task as { readonly taskId: string }).taskId;
  };
  return { peer, session, sampler, create };
}

const movesOf = ({ events }: SessionSample) =>
  events.filter((event): event is TransitionEvent => event.kind === 'transition');

test('SessionSampler counts a flood of tasks beyond its burst and keeps the session’s own transitions', async () => {
  const { peer, session, sampler, create } = await sampled();
  sampler.start();
  for (let count = 0; count < 100; count++) await create('work');
  await peer.quiet();
  expect(sampler.hasMoved).toBe(false);
  peer.end();
  await session.closed;
  expect(sampler.hasMoved).toBe(true);
  const sample = sampler.take();
  const moves = movesOf(sample);
  const ofTasks = moves.filter(({ machine }) => machine === 'task');
  const counted = sample.skipped.find(({ label }) => label === 'transitions of task');
  expect(ofTasks.length).toBeGreaterThan(5);
  expect(ofTasks.length).toBeLessThanOrEqual(24);
  expect(ofTasks.length + (counted?.count ?? 0)).toBe(100);
  expect(new Set(ofTasks.map(({ task }) => task)).size).toBe(ofTasks.length);
  expect(moves.filter(({ machine }) => machine === 'session').map(({ to }) => to)).toEqual([
    'draining.settling',
    'draining.flushing',
    'closed',
  ]);
  sampler.stop();
});

test('SessionSampler attributes a task’s cancellation to the request that names the task', async () => {
  const { peer, session, sampler, create } = await sampled();
  const [one, two, three] = [
    await create('endless'),
    await create('endless'),
    await create('work'),
  ];
  sampler.start();
  peer.send({ jsonrpc: '2.0', id: 'a', method: 'tasks/cancel', params: { taskId: one } });
  peer.send({ jsonrpc: '2.0', id: 'b', method: 'tasks/cancel', params: { taskId: two } });
  peer.send({ jsonrpc: '2.0', id: 'c', method: 'tasks/cancel', params: { taskId: three } });
  await peer.quiet();
  const { events } = sampler.take();
  const requestOf = (seq: number | undefined) => {
    const cause = events.find((event) => event.seq === seq);
    return cause?.kind === 'frame' ? cause.id : undefined;
  };
  const cancelled = movesOf({ events, skipped: [] }).filter(({ cause }) => cause === 'task.cancel');
  expect(cancelled.map(({ task, causedBy }) => [task, requestOf(causedBy)])).toEqual([
    [one, 'a'],
    [two, 'b'],
  ]);
  sampler.stop();
  session.actor.stop();
});

test('SessionSampler rows name the tool and the reason of an error', async () => {
  const { peer, session, sampler } = await sampled();
  sampler.start();
  const secret = `ghp_${'a1'.repeat(18)}`;
  const asked = [
    ['tools/call', { name: 'work', arguments: {} }],
    ['tools/call', { name: 'fails', arguments: {} }],
    ['tools/call', { name: 'unknown', arguments: {} }],
    ['tools/call', { name: secret, arguments: {} }],
    ['ping', {}],
  ] as const;
  for (const [at, [method, params]] of asked.entries()) {
    peer.send({ jsonrpc: '2.0', id: at, method, params });
    await peer.response(at);
  }
  const rows = sampler.take().events.flatMap((event) => (event.kind === 'frame' ? [event] : []));
  const requests = rows.filter(({ what }) => what === 'request');
  const answers = rows.filter(({ answers }) => answers !== undefined);
  expect(requests.map(({ subject }) => subject)).toEqual([
    ...['work', 'fails', 'unknown', '[redacted]', undefined],
  ]);
  expect(answers.map(({ subject }) => subject)).toEqual(requests.map(({ subject }) => subject));
  expect(answers.map(({ what, problem }) => [what, problem])).toEqual([
    ['result', undefined],
    ['result', 'there is no such file'],
    ['error', expect.stringMatching(/^-32602 .*unknown/)],
    ['error', expect.stringMatching(/^-32602 /)],
    ['result', undefined],
  ]);
  expect(JSON.stringify(answers)).not.toContain(secret);
  expect(answers.every(({ tookMs }) => typeof tookMs === 'number')).toBe(true);
  sampler.stop();
  session.actor.stop();
});
