/**
 * A process ends at each point at which the engine awaits its store: when it asks, and when it was answered and has not gone on. All of them in turn,
 * and then by chance.
 * `npm run lab -- long` has a thousand crashes, `CRASHES=10000 SEED=7` more. `npm run lab -- kills` does it to real processes.
 */
import { defineTool } from 'mcp-actors';
import type { HandlerContext, JsonObject, Task } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { Chance } from '../../../test/tooling/chance.ts';
import { inLongRun } from '../../../test/tooling/long-run.ts';
import { MemoryTaskStore } from './memory-task-store.ts';
import { World, required, settled, textOf } from './task-world.ts';

/** How many crashes there are by chance, at least. */
const crashes = Number(process.env['CRASHES'] ?? inLongRun(1000, 20));
const seed = Number(process.env['SEED'] ?? 1);

/** Where a process ends: at the nth point that it comes to. Each call of the store is one, and each answer. */
type Point = number;

/** How much time passes between two looks of a client: a wait of the task is over after two. */
const stepMs = 60_000;

const never = () => new Promise<never>(() => {});

/** Everything that the engine awaits of a store. */
const awaited = ['lease', 'changes', 'read', 'create', 'append', 'finish', 'claim'] as const;

/** A task, and the processes that have it one after the other. */
class Ordeal {
  readonly #world = new World();
  /** How often each step of each task was made. */
  readonly #made = new Map<string, number>();
  readonly #written = new Set<string>();
  /** What a handler has heard of each step of each task. */
  readonly #heard = new Map<string, string>();
  /** How the task has ended, as its client has heard. */
  #end: JsonObject | undefined = undefined;
  #task: Task | undefined = undefined;
  crashes = 0;
  /** How many points a process has come to. */
  points = 0;

  /** @param points where each process ends; the one after the last lives */
  async run(points: readonly Point[]): Promise<void> {
    const [point, ...others] = points;
    const { process, store, dead } = this.#start(point);
    const result = await Promise.race([process.then((each) => this.#drive(each)), dead]);
    if (result === undefined) this.crashes++;
    await this.#world.kill({ store });
    if (result === undefined) return this.run(others);
    const { taskId } = this.#task as Task;
    const values = ['order', 'receipt'].map(
      (key) => `${key} ${this.#made.get(`${taskId} ${key}`)}`,
    );
    expect(textOf(result)).toBe(`${values[0]}, accept, ${values[1]}`);
    const last = await this.#start(undefined).process;
    expect(await last.look(this.#task as Task)).toEqual(result);
  }

  /** A process that ends there. */
  #start(point: Point | undefined) {
    const door = gate();
    let state: 'alive' | 'dead' = 'alive';
    const isDead = () => state === 'dead';
    const tool = this.#tool(isDead);
    const store = new MemoryTaskStore(this.#world.table);
    let points = 0;
    const ends = () => {
      store.fault = never;
      state = 'dead';
      door.release();
      return never();
    };
    const isEnd = () => {
      this.points = Math.max(this.points, ++points);
      return points === point;
    };
    for (const method of awaited) {
      const call = store[method].bind(store) as (...args: unknown[]) => Promise<unknown>;
      const numbered = async (...args: unknown[]): Promise<unknown> => {
        if (isDead()) return never();
        if (isEnd()) return ends();
        const answer = await call(...args);
        if (method === 'append') {
          const [{ taskId }, { steps }] = args as Parameters<MemoryTaskStore['append']>;
          for (const { key } of steps) this.#written.add(`${taskId} ${key}`);
        }
        if (isDead()) return never();
        return isEnd() ? ends() : answer;
      };
      Object.assign(store, { [method]: numbered });
    }
    const process = this.#world.start([tool], { maxRestarts: 1e6 }, store);
    return { process, store, dead: door.pass() };
  }

  #tool(isDead: () => boolean) {
    const make =
      (key: string, { task }: HandlerContext) =>
      () => {
        // A process that has ended makes nothing.
        if (isDead()) return never();
        const id = `${task?.taskId} ${key}`;
        expect(this.#written, `${key} is made again`).not.toContain(`${task?.taskId} once:${key}`);
        const times = (this.#made.get(id) ?? 0) + 1;
        this.#made.set(id, times);
        return `${key} ${times}`;
      };
    const kept = async (key: string, context: HandlerContext) => {
      const value = await context.once(key, make(key, context));
      // Also if its process ends now: it is written before.
      const id = `${context.task?.taskId} ${key}`;
      expect(value).toBe(this.#heard.get(id) ?? value);
      this.#heard.set(id, value);
      return value;
    };
    return defineTool({
      name: 'order',
      description: 'Orders',
      taskSupport: required,
      durable: true,
      handler: async (_, context) => {
        const order = await kept('order', context);
        await context.sleep(1000);
        const schema = { type: 'object', properties: {} } as const;
        const { action } = await context.elicit({ message: 'Sure?', schema });
        await context.sleep(120_000);
        return `${order}, ${action}, ${await kept('receipt', context)}`;
      },
    });
  }

  /** What a client does until its task has ended. */
  async #drive(process: Awaited<ReturnType<World['start']>>): Promise<JsonObject> {
    this.#task ??= await process.begin('order');
    for (;;) {
      const seen = await process.look(this.#task);
      // The same is true for what is heard of a process that ends now.
      expect(seen).toEqual(this.#end ?? seen);
      if (seen['status'] === 'input_required') {
        const inputResponses = { q1: { action: 'accept', content: {} } };
        await process.ask('tasks/update', { taskId: this.#task.taskId, inputResponses });
      } else if (seen['status'] !== 'working') {
        this.#end = seen;
        return seen;
      }
      this.#world.table.now += stepMs;
      this.#world.clock.increment(stepMs);
      await settled();
    }
  }
}

test('completes a task without repeating recorded steps, wherever its process is killed', async () => {
  const whole = new Ordeal();
  await whole.run([]);
  const { points } = whole;
  expect(points).toBeGreaterThan(30);
  for (let point = 1; point <= points; point++) await new Ordeal().run([point]);
});

test('completes a task whose process is killed repeatedly', async () => {
  const chance = new Chance(seed);
  for (let had = 0; had < crashes;) {
    const points = Array.from({ length: chance.between(2, 6) }, () => chance.between(1, 40));
    const ordeal = new Ordeal();
    await ordeal.run(points);
    had += ordeal.crashes;
  }
});
