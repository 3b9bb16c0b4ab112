/**
 * Encrypts tasks before they reach a store. A reader of the store learns ids, owners, times and step names; a writer
 * can neither forge a task nor give it the text of another.
 */
import { digestOf } from '../../../src/rounds/request-state.ts';
import type { FoundTask, TaskRecord, TaskStep, TaskStore } from './task-store.ts';

/** True for a sealed text; plain texts of tasks are JSON objects. */
export const isSealed = (text: string): boolean => !text.startsWith('{');

/** Encrypts and decrypts texts. `open` resolves to undefined for a text sealed with another key. */
interface Sealer {
  seal(text: string): Promise<string>;
  open(token: string): Promise<string | undefined>;
}

/** Name of a task's own text; step names begin with ":". */
const own = '';

/**
 * Wraps a store so that its texts are sealed. A task that cannot be opened, because its key is gone or its text was
 * changed, is neither read nor listed. A claim returns it without its text, so that the claimer can park it again.
 */
export function sealedTaskStore(store: TaskStore, sealer: Sealer): TaskStore {
  const seal = (...whole: readonly [taskId: string, name: string, text: string]) =>
    sealer.seal(JSON.stringify(whole));

  async function open(taskId: string, name: string, token: string): Promise<string | undefined> {
    const whole = await sealer.open(token);
    if (whole === undefined) return undefined;
    const [id, itsName, text] = JSON.parse(whole) as readonly [string, string, string];
    return id === taskId && itsName === name ? text : undefined;
  }

  const sealSteps = (taskId: string, steps: readonly TaskStep[]) =>
    Promise.all(
      steps.map(async ({ key, text }) => ({ key, text: await seal(taskId, `:${key}`, text) })),
    );

  async function openRecord(record: TaskRecord): Promise<TaskRecord | undefined> {
    const { taskId } = record;
    const text = await open(taskId, own, record.text);
    const steps = await Promise.all(
      record.steps.map(async (step) => ({
        key: step.key,
        text: await open(taskId, `:${step.key}`, step.text),
      })),
    );
    const opened = steps.flatMap((step) => (step.text === undefined ? [] : [step as TaskStep]));
    if (text === undefined || opened.length < steps.length) return undefined;
    return { ...record, text, steps: opened };
  }

  async function openFound(found: FoundTask): Promise<FoundTask | undefined> {
    const record = await openRecord(found.record);
    return record && { ...found, record };
  }

  return {
    leaseMs: store.leaseMs,
    lease: (owner) => store.lease(owner),
    leave: (owner) => store.leave(owner),
    async create(task) {
      const { taskId, steps = [] } = task;
      const text = await seal(taskId, own, task.text);
      const quota = task.quota && { ...task.quota, key: await digestOf(task.quota.key) };
      return store.create({ ...task, text, quota, steps: await sealSteps(taskId, steps) });
    },
    async read(taskId) {
      const found = await store.read(taskId);
      return found && openFound(found);
    },
    async append(claim, progress) {
      const steps = await sealSteps(claim.taskId, progress.steps);
      return store.append(claim, { ...progress, steps });
    },
    ...(store.appendWith && {
      appendWith: (claim, key, make) =>
        store.appendWith!(claim, key, async (sql) =>
          seal(claim.taskId, `:${key}`, await make(sql)),
        ),
    }),
    finish: async (claim, text, letsGo) =>
      store.finish(claim, await seal(claim.taskId, own, text), letsGo),
    async claim(request) {
      const claimed = await store.claim(request);
      const open = async (record: TaskRecord) =>
        (await openRecord(record)) ?? { ...record, text: '', steps: [] };
      return { ...claimed, tasks: await Promise.all(claimed.tasks.map(open)) };
    },
    async list(request) {
      const found = await Promise.all((await store.list(request)).map(openFound));
      return found.flatMap((task) => task ?? []);
    },
    changes: (since) => store.changes(since),
    ...(store.watch && { watch: (changed) => store.watch!(changed) }),
    close: () => store.close(),
  };
}
