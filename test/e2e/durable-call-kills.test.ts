/**
 * Kills a server while it awaits its store or writes to its host, during ordinary calls. The test
 * resends unanswered calls like the supervisor: each call gets one result and computes each
 * recorded value once. `KILLS=1000 SEED=7` also kills at random points.
 */
import { join } from 'node:path';
import { initialize, initialized, toolCall } from 'mcp-actors/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { callKey, questionKey, resentKey } from '../../src/protocol/durable-calls.ts';
import { program } from '../tooling/programs.ts';
import { Chance } from '../tooling/chance.ts';
import { killedStores } from './killed-stores.ts';
import type { KilledStore } from './killed-stores.ts';
import { launch, reapServers } from './server-process.ts';
import type { Line, ServerProcess } from './server-process.ts';

const server = program('test/e2e/killed-calls-server.ts');

const more = Number(process.env['KILLS'] ?? 0);
const seed = Number(process.env['SEED'] ?? 1);

/** Kill points, in turn: before and after each write of a call, and each line to the host. */
const points = [
  ...['create.called:1', 'create.answered:1', 'append.called:1', 'append.answered:1'],
  ...['append.called:2', 'append.answered:2', 'append.called:3', 'append.answered:3'],
  ...['append.called:5', 'append.answered:6', 'finish.called:1', 'finish.answered:1'],
  ...['stdout.called:2', 'stdout.answered:2', 'stdout.called:3', 'stdout.called:4'],
  ...['stdout.answered:5', 'read.answered:1', 'claim.answered:1', 'claim.called:2'],
];

/** Approximate number of points that one start reaches. */
const allPoints = 60;

interface Host {
  readonly pending: Map<string, 'new' | 'resent'>;
  /** The highest progress of each call. */
  readonly progress: Map<string, number>;
  readonly results: Map<string, string>;
}

afterEach(reapServers);

/** Uses one process until it ends or every call is answered. @returns true if it is still alive */
async function speak(process: ServerProcess, host: Host): Promise<boolean> {
  process.answers.set('elicitation/create', ({ params }) => {
    expect((params as Line)['_meta']).toHaveProperty([questionKey]);
    return { action: 'accept', content: { size: 'x' } };
  });
  const ended = process.exit.then(() => undefined);
  const answered = (id: string) => Promise.race([process.answer(id).catch(() => ended), ended]);
  process.send(initialize('hello', { capabilities: { elicitation: { form: {} } } }), initialized);
  if (!(await answered('hello'))) return false;
  const calls = [...host.pending].map(async ([callId, state]) => {
    host.pending.set(callId, 'resent');
    const marks = { [callKey]: callId, ...(state === 'resent' ? { [resentKey]: true } : {}) };
    process.send(toolCall(callId, 'order', {}, { progressToken: callId, ...marks }));
    const answer = await answered(callId);
    if (!answer) return;
    expect(answer['error'], process.stderr).toBeUndefined();
    const { content } = answer['result'] as { content: readonly [{ text: string }] };
    host.results.set(callId, content[0].text);
    host.pending.delete(callId);
  });
  await Promise.all(calls);
  return host.pending.size === 0;
}

/** Progress grows, across processes. */
function follow(process: ServerProcess, host: Host): void {
  for (const { method, params } of process.messages.all) {
    if (method !== 'notifications/progress') continue;
    const { progressToken, progress } = params as { progressToken: string; progress: number };
    expect(progress).toBeGreaterThan(host.progress.get(progressToken) ?? 0);
    host.progress.set(progressToken, progress);
  }
}

async function kill(store: KilledStore, place: string, lane: number): Promise<void> {
  const name = `calls${lane}`;
  const where = place.includes('://') ? place : join(place, name);
  const chance = new Chance(seed + lane);
  const isOurs = (_: unknown, at: number) => at % store.lanes === lane;
  const anywhere = () => `any:${chance.between(1, allPoints)}`;
  const random = Array.from({ length: more }).filter(isOurs).map(anywhere);
  const host: Host = {
    pending: new Map(),
    progress: new Map(),
    results: new Map(),
  };
  const deadly = [...points.filter(isOurs), ...random];
  for (const point of deadly.flatMap((each) => [each, 'never:1'])) {
    // A repeatedly killed call backs off, so each gets a process that can finish.
    if (point === 'never:1' && host.pending.size === 0) continue;
    if (point !== 'never:1') host.pending.set(crypto.randomUUID(), 'new');
    const child = launch([...server, where, point, name]);
    const isAlive = await speak(child, host);
    if (isAlive) child.child.kill('SIGKILL');
    const { signal } = await child.exit;
    expect(signal, `${point} of ${name}, the seed is ${seed}: ${child.stderr}`).toBe('SIGKILL');
    follow(child, host);
  }
  expect(host.pending.size).toBe(0);
  const charges = [...host.results.values()].map((text) => {
    const [charge = '', receipt] = text.split(': ');
    expect(receipt).toBe(`receipt of ${charge}, accept`);
    return charge;
  });
  expect(new Set(charges).size).toBe(charges.length);
}

describe.each(killedStores)('kills during ordinary calls in $name', (store) => {
  beforeEach((context) => store.needs(context));

  test('leave each call with one result and increasing progress', async () => {
    const where = await store.open();
    await Promise.all(Array.from({ length: store.lanes }, (_, lane) => kill(store, where, lane)));
  });
});
