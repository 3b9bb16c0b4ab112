/** Contract of task stores. */
import type { NewTaskRecord, TaskRecord, TaskStore } from '../../../tasks/src/task-store.ts';
import type { ContractCase } from '../contract.ts';
import { same } from './contract.ts';

/** Several processes that share one store of tasks. */
export interface TaskStoreWorld {
  /** Starts a process whose leases last less than a second. */
  start(): Promise<TaskStore>;
  /** Advances the store's time. */
  elapse(ms: number): Promise<void>;
  /** Closes all processes and the shared store. */
  close(): Promise<void>;
}

/** Creates a world without tasks. */
export type OpenTaskStoreWorld = () => Promise<TaskStoreWorld>;

/** Fixture of a case: two processes with a lease each. */
interface TaskPlay {
  readonly a: TaskStore;
  readonly b: TaskStore;
  readonly world: TaskStoreWorld;
}

function taskCase(
  name: string,
  play: (play: TaskPlay) => Promise<void>,
): ContractCase<OpenTaskStoreWorld> {
  return {
    name,
    check: async (open) => {
      const world = await open();
      try {
        const [a, b] = [await world.start(), await world.start()];
        await a.lease('a');
        await b.lease('b');
        await play({ a, b, world });
      } finally {
        await world.close();
      }
    },
  };
}

const minute = 60_000;

const taskOf = (more: Partial<NewTaskRecord> = {}): NewTaskRecord => ({
  ...{ taskId: 't1', server: 'shop', owner: 'a', text: 'begun', ttlMs: minute },
  ...more,
});

const taken = (store: TaskStore, owner: string, more: { readonly taskId?: string } = {}) =>
  store.claim({ owner, server: 'shop', max: 10, ...more });

const claimed = async (...args: Parameters<typeof taken>) => (await taken(...args)).tasks;

const oneStep = (key: string, text: string) => ({ steps: [{ key, text }] });

const idsOf = (records: readonly TaskRecord[]) => records.map(({ taskId }) => taskId);

const isUpTo = (ms: number | undefined, max: number) => ms !== undefined && ms > 0 && ms <= max;

/** Lets only the first process's lease expire. */
async function endLease({ b, world }: TaskPlay): Promise<void> {
  await world.elapse(b.leaseMs);
  await b.lease('b');
}

/** Contract of a task store, such as your own: `test(name, () => check(openWorld))`. */
export const taskStoreContract: readonly ContractCase<OpenTaskStoreWorld>[] = [
  taskCase('every process reads a task as it was stored', async ({ a, b }) => {
    same(await a.create(taskOf()), { taskId: 't1', fence: 1 }, 'the claim');
    const { record, isOwned } = (await b.read('t1')) ?? {};
    const { ttlMs = 0, ...rest } = record ?? {};
    same(
      { ...rest, ttlMs: minute },
      { ...taskOf(), fence: 1, claims: 0, state: 'open', steps: [] },
      'what is read',
    );
    same([isOwned, ttlMs > 0 && ttlMs <= minute], [true, true], 'its owner and its time');
    for (const id of ['t2', '', "'; --", '{x}', 'x'.repeat(5000)]) {
      same(await b.read(id), undefined, `the task ${id.slice(0, 9)}`);
    }
  }),
  taskCase('any text is stored unchanged', async ({ a, b }) => {
    const text = 'ä \u2028\u2029 \ud83e\udd4a "quoted"\n\r\t\\ \' $1 {tag} '.repeat(5000);
    const claim = await a.create(taskOf({ text }));
    await a.append(claim, oneStep(text.slice(0, 40), text));
    const { record } = (await b.read('t1')) ?? {};
    same([record?.text, record?.steps], [text, [{ key: text.slice(0, 40), text }]], 'the text');
    await a.finish(claim, `${text}!`);
    same((await b.read('t1'))?.record.text, `${text}!`, 'the last text');
  }),
  taskCase('an id can be created only once', async ({ a, b }) => {
    await a.create(taskOf());
    const second = b.create(taskOf({ owner: 'b', text: 'other' }));
    same(await outcome(second), 'refused', 'the second task of this id');
    same((await a.read('t1'))?.record.text, 'begun', 'the first');
  }),
  taskCase('steps are kept in order, one per key, until the end', async ({ a, b }) => {
    const claim = await a.create(taskOf(oneStep('call', 'c')));
    same(await a.append(claim, oneStep('once:charge', '1')), 'written', 'a step');
    const both = [...oneStep('checkpoint', 'x').steps, ...oneStep('once:charge', '2').steps];
    same(await a.append(claim, { steps: both }), 'written', 'two steps');
    const steps = [
      { key: 'call', text: 'c' },
      { key: 'once:charge', text: '2' },
      { key: 'checkpoint', text: 'x' },
    ];
    same((await b.read('t1'))?.record.steps, steps, 'the steps');
    await a.finish(claim, 'done');
    same((await b.read('t1'))?.record.steps, [], 'the steps of an ended task');
  }),
  taskCase('an end is final', async ({ a, b }) => {
    const claim = await a.create(taskOf());
    same(await a.finish(claim, 'done'), 'written', 'the first end');
    same(await a.finish(claim, 'again'), 'ended', 'the second end');
    same(await b.finish({ taskId: 't1' }, 'cancelled'), 'ended', 'an end by another');
    same(await a.append(claim, oneStep('k', 'late')), 'ended', 'a step after the end');
    const { state, text } = (await b.read('t1'))?.record ?? {};
    same([state, text], ['ended', 'done'], 'what is kept');
    same(await a.finish({ taskId: 't2' }, 'x'), 'ended', 'the end of a task that is not there');
  }),
  taskCase('any process may end a task without a claim', async ({ a, b }) => {
    const claim = await a.create(taskOf());
    same(await b.finish({ taskId: 't1' }, 'cancelled'), 'written', 'the end by another');
    same(await a.finish(claim, 'done'), 'ended', 'the end by its owner');
  }),
  taskCase('a task of a live process cannot be claimed', async (play) => {
    const { a, b } = play;
    await a.create(taskOf());
    same(await claimed(b, 'b'), [], 'what is claimed');
    same((await b.read('t1'))?.isOwned, true, 'whether it is owned');
    await endLease(play);
    await a.lease('a');
    same(await claimed(b, 'b'), [], 'what is claimed after the lease was prolonged');
  }),
  taskCase('a process does not claim its own tasks after its lease has expired', async (play) => {
    const { a, b } = play;
    const claim = await a.create(taskOf());
    await endLease(play);
    same(await claimed(a, 'a'), [], 'what it claims');
    same(await claimed(a, 'a', { taskId: 't1' }), [], 'what it claims by its name');
    same(await a.append(claim, oneStep('k', 'v')), 'written', 'its step');
    same(idsOf(await claimed(b, 'b')), ['t1'], 'what another claims');
  }),
  taskCase('a claim skips excluded tasks, which others can take', async (play) => {
    const { a, b } = play;
    const claim = await a.create(taskOf());
    await a.append(claim, { steps: [], parkForMs: 0 });
    await a.create(taskOf({ taskId: 't2' }));
    await endLease(play);
    const request = { owner: 'b', server: 'shop', max: 10, except: ['t1', 't2'] };
    same(await b.claim(request), { tasks: [], nextInMs: undefined }, 'what is claimed');
    same((await b.claim({ ...request, taskId: 't1' })).tasks, [], 'what is claimed by its name');
    await a.lease('a');
    same(idsOf(await claimed(a, 'a')), ['t1'], 'what another claims');
  }),
  taskCase('a claim returns own tasks that the process does not know of', async (play) => {
    const { a, b } = play;
    await a.create(taskOf(oneStep('k', 'v')));
    await endLease(play);
    await claimed(b, 'b');
    await b.create(taskOf({ taskId: 't2', owner: 'b' }));
    await b.create(taskOf({ taskId: 't3', owner: 'b', server: 'bank' }));
    const ended = await b.create(taskOf({ taskId: 't4', owner: 'b' }));
    await b.finish(ended, 'done');
    const request = { owner: 'b', server: 'shop', max: 10 };
    same((await b.claim({ ...request, held: ['t1', 't2'] })).tasks, [], 'what is given of all');
    const [first, ...others] = (await b.claim({ ...request, held: ['t2'] })).tasks;
    same([first?.taskId, first?.fence, first?.claims, others], ['t1', 3, 1, []], 'the claimed one');
    same(first?.steps, oneStep('k', 'v').steps, 'its steps');
    const again = (await b.claim({ ...request, held: ['t1'], taskId: 't2' })).tasks;
    same([idsOf(again), again[0]?.claims], [['t2'], 0], 'the created one, by its name');
    same(await b.finish({ taskId: 't1', fence: 2 }, 'late'), 'fenced', 'by the claim before');
    same(await b.finish({ taskId: 't1', fence: 3 }, 'done'), 'written', 'by this claim');
  }),
  taskCase('a claim by id takes that task with all its content, and no other', async (play) => {
    const { a, b } = play;
    const claim = await a.create(taskOf());
    await a.append(claim, oneStep('k', 'v'));
    await a.create(taskOf({ taskId: 't2', server: 'bank' }));
    const ended = await a.create(taskOf({ taskId: 't3' }));
    await a.finish(ended, 'done');
    await a.create(taskOf({ taskId: 't4' }));
    await endLease(play);
    same((await b.read('t1'))?.isOwned, false, 'whether it is owned');
    same(idsOf(await claimed(b, 'b', { taskId: 't3' })), [], 'what has ended');
    const [first, ...others] = await claimed(b, 'b', { taskId: 't1' });
    const { ttlMs = 0, ...record } = first ?? {};
    same(ttlMs > 0 && ttlMs <= minute, true, 'whether its time goes on');
    const steps = [{ key: 'k', text: 'v' }];
    const given = taskOf({ owner: 'b' });
    same(
      { ...record, ttlMs: minute },
      { ...given, fence: 2, claims: 1, state: 'open', steps },
      'what was claimed',
    );
    same([others, idsOf(await claimed(b, 'b'))], [[], ['t4']], 'the rest');
    same(await claimed(b, 'b'), [], 'what is claimed twice');
  }),
  taskCase('a process cannot change a task it has lost', async (play) => {
    const { a, b } = play;
    const claim = await a.create(taskOf());
    await endLease(play);
    const [{ fence } = { fence: 0 }] = await claimed(b, 'b');
    await a.lease('a');
    same(await a.append(claim, oneStep('k', 'late')), 'fenced', 'a step');
    same(await a.finish(claim, 'late'), 'fenced', 'an end');
    same(await b.finish({ taskId: 't1', fence }, 'done'), 'written', 'the end by its owner');
  }),
  taskCase('a parked task has no owner, and is claimed once when it is due', async (play) => {
    const { a, b, world } = play;
    const unit = a.leaseMs / 2;
    for (const [taskId, parkForMs] of [
      ['t1', 3 * unit],
      ['t2', unit],
    ] as const) {
      const claim = await a.create(taskOf({ taskId }));
      same(await a.append(claim, { ...oneStep('sleep', '1'), parkForMs }), 'written', taskId);
    }
    const { record, isOwned } = (await b.read('t2')) ?? {};
    same([record?.owner, record?.claims, isOwned], ['', 0, false], 'its owner');
    same(isUpTo(record?.dueInMs, unit), true, 'when it is due');
    const before = await taken(b, 'b');
    same([before.tasks, isUpTo(before.nextInMs, unit)], [[], true], 'what is claimed before');
    same(await claimed(b, 'b', { taskId: 't1' }), [], 'what is not due, by its name');
    await world.elapse(unit);
    const after = await taken(a, 'a');
    same([idsOf(after.tasks), isUpTo(after.nextInMs, 2 * unit)], [['t2'], true], 'what is due');
    const [{ fence, claims, dueInMs, steps } = {}] = after.tasks as Partial<TaskRecord>[];
    same([fence, claims, dueInMs], [2, 0, undefined], 'what was claimed: nobody had died');
    same(steps, [{ key: 'sleep', text: '1' }], 'its steps');
    same(await claimed(b, 'b'), [], 'what is claimed twice');
    await a.finish({ taskId: 't1' }, 'cancelled');
    same((await taken(b, 'b')).nextInMs, undefined, 'what is due of ended tasks');
  }),
  taskCase('a process cannot change a task after parking it', async ({ a }) => {
    const claim = await a.create(taskOf());
    await a.append(claim, { steps: [], parkForMs: 0 });
    const [{ fence } = { fence: 0 }] = await claimed(a, 'a');
    same(await a.append(claim, oneStep('k', 'late')), 'fenced', 'a step');
    same(await a.append({ taskId: 't1', fence }, oneStep('k', 'v')), 'written', 'the next step');
  }),
  taskCase('a write without a fence makes a parked task due', async ({ a, b }) => {
    const claim = await a.create(taskOf());
    const { upTo } = await a.changes(undefined);
    same(await b.append({ taskId: 't1' }, oneStep('answer', '1')), 'written', 'an answer');
    same((await a.changes(upTo)).taskIds, ['t1'], 'what its owner hears');
    same(await a.append(claim, oneStep('k', 'v')), 'written', 'a step of its owner');
    // Its owner may not have seen the answer.
    await a.append(claim, { steps: [], parkForMs: minute });
    const [again] = await claimed(b, 'b');
    same(again?.steps.length, 2, 'the steps of what is due at once');
    const { fence = 0 } = again ?? {};
    await b.append({ taskId: 't1', fence }, { steps: [], parkForMs: minute / 2 });
    same(await claimed(a, 'a'), [], 'what waits again');
    same(await a.append({ taskId: 't1' }, oneStep('answer', '2')), 'written', 'another answer');
    same(idsOf(await claimed(b, 'b')), ['t1'], 'what has been woken');
    same(await a.append({ taskId: 't2' }, oneStep('k', 'v')), 'ended', 'what is not there');
  }),
  taskCase(
    'a write without a fence keeps an existing step, the owner replaces it',
    async (play) => {
      const { a, b } = play;
      const claim = await a.create(taskOf());
      const textsOf = async () => (await b.read('t1'))?.record.steps.map(({ text }) => text);
      for (const text of ['first', 'second'])
        await b.append({ taskId: 't1' }, oneStep('answer', text));
      same(await textsOf(), ['first'], 'the answer after two writes without a fence');
      const both = {
        steps: [...oneStep('other', 'new').steps, ...oneStep('answer', 'third').steps],
      };
      same(await b.append({ taskId: 't1' }, both), 'written', 'a write of which one step is new');
      same(await textsOf(), ['first', 'new'], 'the steps after it');
      await a.append(claim, oneStep('answer', 'by its owner'));
      same(await textsOf(), ['by its owner', 'new'], 'the steps after a write of the owner');
    },
  ),
  taskCase('changes list progress only if it is announced', async ({ a, b }) => {
    const claim = await a.create(taskOf());
    const { upTo, now } = await b.changes(undefined);
    same(Number.isFinite(now), true, 'the time of the store');
    await a.append(claim, oneStep('k', '1'));
    same((await b.changes(upTo)).taskIds, [], 'what is told of a step');
    await a.append(claim, { ...oneStep('k', '2'), isAnnounced: true });
    same((await b.changes(upTo)).taskIds, ['t1'], 'what is told if it is to be');
  }),
  taskCase('all tasks are listed, in pages', async ({ a, b }) => {
    for (const taskId of ['t3', 't1', 't2']) await a.create(taskOf({ taskId, server: taskId }));
    await a.finish({ taskId: 't2' }, 'done');
    const first = await b.list({ max: 2 });
    const listed = first.map(({ record, isOwned }) => [record.taskId, record.state, isOwned]);
    const wanted = [
      ['t1', 'open', true],
      ['t2', 'ended', true],
    ];
    same(listed, wanted, 'the first page');
    const next = await b.list({ after: 't2', max: 2 });
    same(
      next.map(({ record }) => record.taskId),
      ['t3'],
      'the next one',
    );
  }),
  taskCase('concurrent claims divide the tasks', async (play) => {
    const { a, b, world } = play;
    const taskIds = Array.from({ length: 20 }, (_, at) => `t${at}`);
    for (const taskId of taskIds) await a.create(taskOf({ taskId }));
    await a.leave('a');
    const c = await world.start();
    await c.lease('c');
    const rounds = [1, 2, 3].flatMap(() => [claimed(b, 'b'), claimed(c, 'c')]);
    const got = (await Promise.all(rounds)).flatMap(idsOf);
    same(got.toSorted(), taskIds.toSorted(), 'what both have claimed');
  }),
  taskCase('a quota limits the tasks of all processes', async ({ a, b, world }) => {
    const of = (name: string, taskId: string, more: Partial<NewTaskRecord> = {}) =>
      taskOf({ taskId, quota: { key: name, max: 3 }, ...more });
    // What is made at once is counted.
    const many = Array.from({ length: 12 }, (_, at) =>
      outcome((at % 2 === 0 ? a : b).create(of('ann', `t${at}`, { ttlMs: minute / 2 }))),
    );
    const became = await Promise.all(many);
    same(became.filter((each) => each === 'settled').length, 3, 'how many are written');
    const listed = async () => idsOf((await a.list({ max: 20 })).map(({ record }) => record));
    same((await listed()).length, 3, 'how many there are');
    const code = (error: unknown) => (error as { readonly code?: unknown }).code;
    same(await b.create(of('ann', 'more')).catch(code), 'LIMIT_EXCEEDED', 'why');
    await b.create(of('bob', 'his'));
    await b.create(taskOf({ taskId: 'uncounted' }));
    await world.elapse(minute / 2);
    await Promise.all(['u1', 'u2', 'u3'].map((id) => b.create(of('ann', id))));
    same(
      await outcome(a.create(of('ann', 'more'))),
      'refused',
      'one more after those have expired',
    );
  }),
  taskCase(
    'evictable tasks make room in their quota, other ended tasks do not',
    async ({ a, b }) => {
      const of = (name: string, taskId: string) => taskOf({ taskId, quota: { key: name, max: 2 } });
      for (const taskId of ['t1', 't2']) await a.create(of('ann', taskId));
      const his = await a.create(of('bob', 'his'));
      await b.finish(his, 'cancelled', true);
      await b.finish({ taskId: 't1' }, 'done');
      same(await outcome(b.create(of('ann', 't3'))), 'refused', 'a task beside those');
      await b.finish({ taskId: 't2' }, 'cancelled', true);
      same((await a.read('t2'))?.record.text, 'cancelled', 'what was let go');
      await a.create(of('ann', 't3'));
      const left = (await a.list({ max: 9 })).map(({ record }) => record.taskId);
      same([left, await b.read('t2')], [['his', 't1', 't3'], undefined], 'what is kept');
      same(await outcome(b.create(of('ann', 't4'))), 'refused', 'a task beside those');
    },
  ),
  taskCase('leaving ends a lease at once', async ({ a, b }) => {
    await a.create(taskOf());
    await a.leave('a');
    same(idsOf(await claimed(b, 'b')), ['t1'], 'what is claimed');
  }),
  taskCase('a task is deleted when its time to live is over', async (play) => {
    const { a, b, world } = play;
    const claim = await a.create(taskOf({ ttlMs: 1 }));
    await a.create(taskOf({ taskId: 't2' }));
    await world.elapse(1);
    await endLease(play);
    same(await b.read('t1'), undefined, 'what is read');
    same(await a.finish(claim, 'late'), 'ended', 'its end');
    same(idsOf(await claimed(b, 'b')), ['t2'], 'what is claimed');
    await a.create(taskOf({ text: 'anew' }));
    same((await b.read('t1'))?.record.text, 'anew', 'a new task of its id');
  }),
  taskCase('changes list claims and ends', async (play) => {
    const { a, b } = play;
    await a.create(taskOf());
    const begun = await b.changes(undefined);
    same(begun.taskIds, [], 'what had changed before');
    const second = await a.create(taskOf({ taskId: 't2' }));
    await a.finish(second, 'done');
    const { upTo, taskIds } = await b.changes(begun.upTo);
    same(taskIds, ['t2'], 'what has ended');
    await endLease(play);
    await claimed(b, 'b');
    const later = await a.changes(upTo);
    same(later.taskIds, ['t1'], 'what was claimed');
    same((await a.changes(later.upTo)).taskIds, [], 'what has changed since');
  }),
];

async function outcome(promise: Promise<unknown>): Promise<'settled' | 'refused'> {
  return promise.then(
    () => 'settled',
    () => 'refused',
  );
}
