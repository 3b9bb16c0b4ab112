/**
 * A server is killed at the writes of its store, in turn, on one directory: each start looks after what
 * the ones before have left. `npm run kills` does it a thousand times, at random, with a seed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isJsonObject } from '../../src/protocol/classify.ts';
import { enveloped } from 'mcp-actors/testing';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { launch, reapServers } from './server-process.ts';
import type { Line, ServerProcess } from './server-process.ts';

const server = program('test/e2e/killed-server.ts');
const envelope = { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };

/** How many starts are killed at random, after the first ones. */
const more = Number(process.env['KILLS'] ?? 0);
const seed = Number(process.env['SEED'] ?? Date.now() % 1e6);

/**
 * Where starts are killed, in turn: when the task is written that the client has not heard of; before and
 * after its end is written; while others are looked after; and by the test, while a task runs.
 */
const points = ['after:2', 'before:4', 'after:4', 'after:1', 'before:99'];

/** Numbers below 1, the same for a seed (mulberry32). */
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

/** What a client has heard of its tasks: the last status of each. */
const heard = new Map<string, string>();

/** A client of one start; it goes on until the process ends. */
class Start {
  readonly #process: ServerProcess;
  #id = 0;

  constructor(process: ServerProcess) {
    this.#process = process;
  }

  /** The result; undefined if the process has ended first. */
  async ask(method: string, params: Line): Promise<Line | undefined> {
    const id = ++this.#id;
    this.#process.send(enveloped(id, method, params, envelope));
    const ended = this.#process.exit.then(() => undefined);
    const answer = await Promise.race([this.#process.answer(id).catch(() => ended), ended]);
    return answer && (answer['result'] as Line);
  }

  async begin(name: string): Promise<string | undefined> {
    const task = await this.ask('tools/call', { name });
    const taskId = task?.['taskId'] as string | undefined;
    if (taskId !== undefined) heard.set(taskId, 'working');
    return taskId;
  }

  /** Looks at a task that the client knows, and holds it against what was said of it before. */
  async look(taskId: string): Promise<string | undefined> {
    const task = await this.ask('tasks/get', { taskId });
    if (!task) return undefined;
    const status = task['status'] as string;
    const before = heard.get(taskId);
    if (before !== 'working') expect(status, `${taskId} was ${before}`).toBe(before);
    if (status === 'completed') expect(isJsonObject(task['result'])).toBe(true);
    heard.set(taskId, status);
    return status;
  }

  /** Everything that a start does. @returns false if it has ended meanwhile */
  async play(): Promise<boolean> {
    for (const taskId of heard.keys()) {
      const status = await this.look(taskId);
      if (status === undefined) return false;
      // Whoever had it is dead.
      expect(status).not.toBe('working');
    }
    const said = await this.begin('say');
    if (said === undefined) return false;
    for (;;) {
      const status = await this.look(said);
      if (status === undefined) return false;
      if (status !== 'working') break;
    }
    const held = await this.begin('hold');
    if (held === undefined || !(await this.ask('tasks/cancel', { taskId: held }))) return false;
    heard.set(held, 'cancelled');
    return (await this.begin('hold')) !== undefined;
  }
}

test('no task that a client knows is lost, and none changes once it has ended', async () => {
  const state = await mkdtemp(join(tmpdir(), 'mcp-kills-'));
  onTestFinished(() => rm(state, { recursive: true }));
  const next = random(seed);
  const anywhere = () => `${next() < 0.5 ? 'before' : 'after'}:${1 + Math.floor(next() * 9)}`;
  const all = [...points, ...Array.from({ length: more }, anywhere)];
  for (const point of all) {
    const child = launch([...server, state, point]);
    const start = new Start(child);
    const isAlive = await start.play();
    if (isAlive) child.child.kill('SIGKILL');
    expect((await child.exit).signal, `the seed is ${seed}, at ${point}`).toBe('SIGKILL');
    // The results of those before are looked at again by a few starts.
    for (const taskId of [...heard.keys()].slice(0, -12)) heard.delete(taskId);
  }
  const last = new Start(launch([...server, state]));
  expect(await last.play()).toBe(true);
  expect([...heard.values()]).toContain('completed');
  expect([...heard.values()]).toContain('failed');
});
