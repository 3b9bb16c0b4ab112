/**
 * Kills a server while it awaits its store, before and after requests to its client, and while it
 * writes to its client, with one directory or database: each start continues with the remains of
 * the previous ones. `npm run lab -- kills` does it a thousand times with each store, at random,
 * with a seed; `npm run lab -- kills -t Redis` with one.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject } from '../../src/protocol/classify.ts';
import { enveloped } from 'mcp-actors/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { killedStores } from './killed-stores.ts';
import type { KilledStore } from './killed-stores.ts';
import { launch, reapServers } from './server-process.ts';
import type { Line, ServerProcess } from './server-process.ts';

const server = program('test/e2e/killed-server.ts');
const envelope = { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };

/** Number of starts killed at random, after the first ones. */
const more = Number(process.env['KILLS'] ?? 0);
const seed = Number(process.env['SEED'] ?? Date.now() % 1e6);

/**
 * Kill points, in turn: after storing a task unknown to the client; before and after storing a step
 * or an end; while other tasks are checked; and by the test, while tasks run.
 */
const points = [
  ...['create.answered:1', 'append.called:1', 'append.answered:1', 'claim.answered:1'],
  ...['finish.called:1', 'finish.answered:1', 'create.called:1', 'never:1'],
];

/** Approximate number of points per start. */
const allPoints = 80;

/** Pseudo-random numbers below 1 for a seed (mulberry32). */
function random(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

afterEach(reapServers);

/** A client's knowledge of its tasks, across processes. */
class Knowledge {
  /** The last status of each. */
  readonly heard = new Map<string, string>();
  /** All observed statuses. */
  readonly statuses = new Set<string>();
  /** Tasks that survive their process, and their results. */
  readonly charges = new Map<string, string | undefined>();
}

/** A client of one start, active until the process ends. */
class Start {
  readonly #process: ServerProcess;
  readonly #isKnownAtOnce: boolean;
  readonly #known: Knowledge;
  #id = 0;

  constructor(process: ServerProcess, { isKnownAtOnce }: KilledStore, known: Knowledge) {
    this.#process = process;
    this.#isKnownAtOnce = isKnownAtOnce;
    this.#known = known;
  }

  /** The result; undefined if the process ended first. */
  async ask(method: string, params: Line): Promise<Line | undefined> {
    const id = ++this.#id;
    this.#process.send(enveloped(id, method, params, envelope));
    const ended = this.#process.exit.then(() => undefined);
    const answer = await Promise.race([this.#process.answer(id).catch(() => ended), ended]);
    expect(answer?.['error'], method).toBeUndefined();
    return answer && (answer['result'] as Line);
  }

  async begin(name: string): Promise<string | undefined> {
    const task = await this.ask('tools/call', { name });
    const taskId = task?.['taskId'] as string | undefined;
    if (taskId === undefined) return undefined;
    this.#known.heard.set(taskId, 'working');
    if (name === 'charge') this.#known.charges.set(taskId, undefined);
    return taskId;
  }

  /** Polls a known task and compares it with earlier observations. */
  async look(taskId: string): Promise<string | undefined> {
    const task = await this.ask('tasks/get', { taskId });
    if (!task) return undefined;
    const status = task['status'] as string;
    const before = this.#known.heard.get(taskId);
    if (before !== 'working') expect(status, `${taskId} was ${before}`).toBe(before);
    if (status === 'completed') this.#compare(taskId, task['result']);
    this.#known.heard.set(taskId, status);
    this.#known.statuses.add(status);
    return status;
  }

  /** A task's result never changes, and matches its steps. */
  #compare(taskId: string, result: unknown): void {
    expect(isJsonObject(result)).toBe(true);
    if (!this.#known.charges.has(taskId)) return;
    const [{ text = '' } = {}] = (result as { content: { text?: string }[] }).content;
    const [charge = ''] = text.split(':');
    expect(text).toBe(`${charge}: receipt of ${charge}`);
    expect(text).toBe(this.#known.charges.get(taskId) ?? text);
    this.#known.charges.set(taskId, text);
  }

  /** Polls until a surviving task has ended. */
  async untilEnded(taskId: string): Promise<string | undefined> {
    for (;;) {
      const status = await this.look(taskId);
      if (status !== 'working') return status;
      await delay(20);
    }
  }

  /** The work of one start. @returns false if the process ended meanwhile */
  async play(): Promise<boolean> {
    for (const taskId of this.#known.heard.keys()) {
      // The previous owner is dead.
      const isOver = !this.#known.charges.has(taskId);
      const isAwaited = isOver && !this.#isKnownAtOnce;
      const status = isAwaited ? await this.untilEnded(taskId) : await this.look(taskId);
      if (status === undefined) return false;
      if (isOver) expect(status).not.toBe('working');
    }
    if ((await this.begin('charge')) === undefined) return false;
    const said = await this.begin('say');
    if (said === undefined || (await this.untilEnded(said)) === undefined) return false;
    const held = await this.begin('hold');
    if (held === undefined || !(await this.ask('tasks/cancel', { taskId: held }))) return false;
    this.#known.heard.set(held, 'cancelled');
    return (await this.begin('hold')) !== undefined;
  }
}

describe.each(killedStores)('kills with tasks in $name', (store) => {
  beforeEach((context) => store.needs(context));

  test('lose no task known to a client, and change none that has ended', async () => {
    const where = await store.open();
    const lanes = Array.from({ length: store.lanes }, (_, lane) => kill(store, where, lane));
    const statuses = (await Promise.all(lanes)).flatMap((known) => [...known.statuses]);
    expect(statuses).toContain('completed');
    expect(statuses).toContain('failed');
  });
});

/** One client, which kills at every n-th point. */
async function kill(store: KilledStore, place: string, lane: number): Promise<Knowledge> {
  const known = new Knowledge();
  const { heard, charges } = known;
  const name = `lane${lane}`;
  const where = place.includes('://') ? place : join(place, name);
  const next = random(seed + lane);
  const isOurs = (_: unknown, at: number) => at % store.lanes === lane;
  const anywhere = () => `any:${1 + Math.floor(next() * allPoints)}`;
  const all = [
    ...points.filter(isOurs),
    ...Array.from({ length: more }).filter(isOurs).map(anywhere),
  ];
  for (const [at, point] of all.entries()) {
    if (at % 100 === 99) console.log(`${name}: ${at + 1} of ${all.length}, the seed is ${seed}`);
    const child = launch([...server, where, point, name]);
    const start = new Start(child, store, known);
    const isAlive = await start.play();
    if (isAlive) child.child.kill('SIGKILL');
    const { signal } = await child.exit;
    const here = `the seed is ${seed}, at ${point}, number ${at + 1} of ${name}`;
    expect(signal, `${here}: ${child.stderr}`).toBe('SIGKILL');
    // A few starts check the results of earlier tasks again.
    const old = [...heard].filter(([, status]) => status !== 'working').slice(0, -12);
    for (const [taskId] of old) heard.delete(taskId);
  }
  const last = new Start(launch([...server, where, 'never:1', name]), store, known);
  expect(await last.play()).toBe(true);
  // No started task is lost: each ends, with its own steps.
  for (const taskId of charges.keys()) {
    if (heard.get(taskId) === 'working') expect(await last.untilEnded(taskId)).toBe('completed');
  }
  return known;
}
