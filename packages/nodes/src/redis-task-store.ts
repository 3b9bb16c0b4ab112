/**
 * Task store in Redis for any number of nodes: a hash per task, plus indexes. All times are the
 * server's.
 *
 * In a cluster, a task and its index entries are on different masters, so no script writes both.
 * Entries are written before their task and removed after it: every task has entries, and some
 * entries may point to tasks that are gone or have another owner, which a claim detects. Outside
 * clusters a single script parks a task, or records an answer and wakes it.
 */
import { assertDuration } from '../../../src/actors/clock.ts';
import type {
  UnfencedClaim,
  ClaimRequest,
  ClaimedTasks,
  FoundTask,
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskListRequest,
  TaskProgress,
  TaskRecord,
  TaskStep,
  TaskStore,
  WriteResult,
} from '../../tasks/src/task-store.ts';
import { quotaExceeded } from '../../tasks/src/task-store.ts';
import { RedisConnection } from './connection.ts';
import type { RedisConnectionOptions } from './connection.ts';
import { Keys } from './keys.ts';
import { defaultRedisOptions } from './redis-stores.ts';
import { rememberedMs, reservedMs, taskScripts } from './task-scripts.ts';

/** Connection to Redis, by `url` or with a ready client. */
export interface RedisTaskStoreOptions extends Partial<
  Omit<RedisConnectionOptions, 'socketTimeoutMs' | 'maxReconnectMs'>
> {
  /** Prefix of all keys; nodes with the same prefix share tasks. Default `mcp:`. */
  readonly prefix?: string;
  /** Duration of a lease without renewal, milliseconds. Default 30 s. */
  readonly leaseMs?: number;
}

/**
 * Opens a task store in Redis 6.2 or newer. Redis must not evict keys (`maxmemory-policy
 * noeviction`), and tasks are as durable as Redis makes them (`appendonly yes`, `appendfsync
 * always`).
 *
 * @throws {StoreUnavailable} if Redis cannot be reached
 * @throws {RangeError} if an option is invalid
 */
export async function redisTaskStore(given: RedisTaskStoreOptions): Promise<TaskStore> {
  const options = { ...defaultRedisOptions, leaseMs: 30_000, ...given };
  for (const name of ['commandTimeoutMs', 'leaseMs'] as const) assertDuration(name, options[name]);
  const { leaseMs, commandTimeoutMs } = options;
  const keys = new Keys(options.prefix);
  // Live processes send several commands within a lease, so longer silence means a dead connection.
  const connectionOptions = {
    ...options,
    maxReconnectMs: 1000,
    socketTimeoutMs: leaseMs + 2 * commandTimeoutMs,
  };
  const connection = new RedisConnection(connectionOptions, Object.values(taskScripts));
  try {
    await connection.open();
  } catch (error) {
    connection.close();
    throw error;
  }
  return new RedisTaskStore(connection, keys, leaseMs);
}

/** Meaning of the results 0, 1 and 2 of scripts. */
const writeResults: readonly WriteResult[] = ['written', 'ended', 'fenced'];

/** A task's entry in the indexes. */
const indexEntry = (server: string, taskId: string) => `${JSON.stringify(server)}:${taskId}`;

/** A claimable task: its index key, member and score. */
interface Candidate {
  readonly taskId: string;
  readonly from: string;
  readonly score: string;
  /** Set for a task that already belongs to the claimer. */
  readonly isOwn?: true;
}

class RedisTaskStore implements TaskStore {
  readonly leaseMs: number;
  readonly #connection: RedisConnection;
  readonly #keys: Keys;

  constructor(connection: RedisConnection, keys: Keys, leaseMs: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.leaseMs = leaseMs;
  }

  async lease(owner: string): Promise<void> {
    const args = [owner, String(this.leaseMs), String(rememberedMs)];
    await this.#run('lease', this.#indexKeys(owner), args);
  }

  async leave(owner: string): Promise<void> {
    await this.#run('leave', [this.#keys.taskOwners], [owner]);
  }

  async create(task: NewTaskRecord): Promise<TaskClaim> {
    const { taskId, server, owner, text, ttlMs, steps = [], quota } = task;
    const ttl = String(Math.max(1, Math.ceil(ttlMs)));
    const keys = this.#indexKeys(owner);
    const leading = [owner, indexEntry(server, taskId), ttl, taskId];
    const first = quota
      ? await this.#run(
          'lead',
          [...keys, ...this.#quotaKeys(quota.key)],
          [...leading, String(quota.max)],
        )
      : await this.#run('lead', keys, leading);
    if (first === 0 && quota) throw quotaExceeded(quota);
    if (typeof first === 'string') await this.#forget(first);
    const args = [server, owner, text, ttl, quota?.key ?? '', ...argsOf(steps)];
    const isNew = await this.#run('create', [this.#keys.task(taskId)], args);
    if (isNew !== 1) throw new Error(`The task ${taskId} already exists`);
    return { taskId, fence: 1 };
  }

  async #forget(taskId: string): Promise<void> {
    const key = this.#keys.task(taskId);
    // If this fails, the unindexed task expires on its own.
    await this.#connection.command(['UNLINK', key], key).catch(() => {});
  }

  #quotaKeys(share: string): readonly string[] {
    return [this.#keys.quotaTasks(share), this.#keys.evictableTasks(share)];
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    if (!this.#keys.isId(taskId)) return undefined;
    const [record, owners] = await Promise.all([this.#record(taskId), this.#liveOwners()]);
    return record && { record, isOwned: owners.includes(record.owner) };
  }

  async append(
    { taskId, ...claimed }: UnfencedClaim | TaskClaim,
    { steps, parkForMs, isAnnounced }: TaskProgress,
  ): Promise<WriteResult> {
    const fence = 'fence' in claimed ? String(claimed.fence) : '';
    const park = fence === '' || parkForMs === undefined ? '' : String(Math.ceil(parkForMs));
    const told = isAnnounced || fence === '' ? taskId : '';
    const isLed = fence === '' || park !== '';
    const key = this.#keys.task(taskId);
    const kept = String(rememberedMs + Number(park));
    const written = argsOf(steps);
    if (!isLed && told === '') {
      const reply = await this.#run('append', [key], [fence, park, ...written]);
      const [became] = reply as readonly [number];
      return writeResults[became] ?? 'ended';
    }
    const { dueTasks, openTasks } = this.#keys;
    const fields = ['HMGET', key, 'server', 'owner'];
    const [server, owner] = (isLed ? await this.#connection.command(fields, key) : []) as readonly (
      | string
      | null
    )[];
    if (isLed && typeof server !== 'string') return 'ended';
    const path = typeof server === 'string' ? indexEntry(server, taskId) : '';
    const [due, open] = [`${dueTasks}${server}`, `${openTasks}${owner}`];
    if (!this.#connection.isCluster) {
      const keys = [key, ...this.#changes, ...(isLed ? [due] : [])];
      const args = [fence, park, path, openTasks, told, String(rememberedMs), kept, ...written];
      const [became] = (await this.#run('appendWhole', keys, args)) as readonly [number];
      return writeResults[became] ?? 'ended';
    }
    // Indexed ahead, so that other nodes find the task if this process dies before the last script.
    const ahead = String(Math.max(Number(park), reservedMs));
    const place = isLed ? await this.#run('leadAhead', [due, open], [path, ahead, kept]) : '';
    const reply = await this.#run('append', [key], [fence, park, ...written]);
    const [became, , dueAt = ''] = reply as readonly [number, ...string[]];
    if (became !== 0) return writeResults[became] ?? 'ended';
    const left = park === '' ? '' : String(place);
    const args = [path, dueAt, kept, left, told, String(rememberedMs)];
    await this.#run('parked', [...this.#changes, due, open], args);
    return 'written';
  }

  async finish(
    { taskId, ...claimed }: UnfencedClaim | TaskClaim,
    text: string,
    letsGo = false,
  ): Promise<WriteResult> {
    const fence = 'fence' in claimed ? String(claimed.fence) : '';
    const reply = await this.#run('finish', [this.#keys.task(taskId)], [fence, text]);
    const [became, owner = '', server = '', share = '', ttlMs] = reply as FinishReply;
    if (became === 0) {
      if (letsGo && share !== '') {
        const room = [this.#keys.evictableTasks(share)];
        await this.#run('letGo', room, [taskId, String(ttlMs)]).catch(() => {});
      }
      const { openTasks, dueTasks } = this.#keys;
      const keys = [...this.#changes, `${openTasks}${owner}`, `${dueTasks}${server}`];
      const args = [indexEntry(server, taskId), taskId, String(rememberedMs)];
      // The task has ended; other nodes find out even if this fails.
      await this.#run('leadNoMore', keys, args).catch(() => {});
    }
    return writeResults[became] ?? 'ended';
  }

  async claim(request: ClaimRequest): Promise<ClaimedTasks> {
    const { owner, server, max, taskId, except = [] } = request;
    const tasks: TaskRecord[] = [];
    if (request.held) {
      const [owners, unheard] = await Promise.all([
        this.#liveOwners(),
        this.#unknownOwnTasks(request),
      ]);
      tasks.push(...(await this.#claimAll(request, unheard, owners)));
    }
    if (taskId !== undefined && tasks.length === 0 && !except.includes(taskId)) {
      const ttl = String(rememberedMs);
      const [owners] = await Promise.all([
        this.#liveOwners(),
        this.#run('lead', this.#indexKeys(owner), [owner, indexEntry(server, taskId), ttl]),
      ]);
      tasks.push(...(await this.#claimAll(request, [{ taskId, from: '', score: '' }], owners)));
    }
    for (;;) {
      // Other nodes may claim some candidates first.
      const most = taskId === undefined ? max - tasks.length : 0;
      const { owners, candidates, nextInMs } = await this.#findUnowned(request, most);
      tasks.push(...(await this.#claimAll(request, candidates, owners)));
      const isAll = most === 0 || candidates.length < most || tasks.length >= max;
      if (isAll) return { tasks, nextInMs };
    }
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    const reply = await this.#run('changesSince', this.#changes, [String(since ?? 0)]);
    const [upTo, taskIds, now] = reply as readonly [number, readonly string[], number];
    return { upTo, taskIds: since === undefined ? [] : taskIds, now };
  }

  async list({ after, max }: TaskListRequest): Promise<readonly FoundTask[]> {
    const key = this.#keys.taskIds;
    const owners = await this.#liveOwners();
    const listed: FoundTask[] = [];
    for (let from = after; listed.length < max;) {
      const range = [from === undefined ? '-' : `(${from}`, '+', 'LIMIT', '0', String(max)];
      const ids = await this.#connection.command(['ZRANGEBYLEX', key, ...range], key);
      const records = await Promise.all((ids as string[]).map((id) => this.#record(id)));
      for (const record of records) {
        if (record) listed.push({ record, isOwned: owners.includes(record.owner) });
      }
      from = (ids as string[]).at(-1);
      if (from === undefined) break;
    }
    return listed.slice(0, max);
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  get #changes(): readonly string[] {
    return [this.#keys.lastTaskChange, this.#keys.changedTasks];
  }

  #indexKeys(owner: string): readonly string[] {
    const { taskOwners, openTasks, keptTasks, taskIds } = this.#keys;
    return [taskOwners, `${openTasks}${owner}`, keptTasks, taskIds];
  }

  #run(name: keyof typeof taskScripts, keys: readonly string[], args: readonly string[]) {
    return this.#connection.run(taskScripts[name], keys, args);
  }

  async #liveOwners(): Promise<readonly string[]> {
    return (await this.#run('living', [this.#keys.taskOwners], [])) as readonly string[];
  }

  async #record(taskId: string): Promise<TaskRecord | undefined> {
    return recordOf(taskId, (await this.#run('read', [this.#keys.task(taskId)], [])) as FoundReply);
  }

  /** Tasks that belong to the claimer without its knowledge, because a reply was lost. */
  async #unknownOwnTasks(request: ClaimRequest): Promise<readonly Candidate[]> {
    const { owner, server, max, taskId, except = [], held = [] } = request;
    const key = `${this.#keys.openTasks}${owner}`;
    const own = (await this.#connection.command(['ZRANGE', key, '0', '-1'], key)) as string[];
    const before = indexEntry(server, '');
    const known = new Set([...held, ...except]);
    return own
      .filter((path) => path.startsWith(before))
      .map((path) => path.slice(before.length))
      .filter((id) => !known.has(id) && (taskId ?? id) === id)
      .slice(0, max)
      .map((id) => ({ taskId: id, from: '', score: '', isOwn: true }));
  }

  async #findUnowned({ owner, server, except = [] }: ClaimRequest, max: number) {
    const { taskOwners, reservedTasks, openTasks, dueTasks } = this.#keys;
    const before = indexEntry(server, '');
    const reply = await this.#run(
      'findUnowned',
      [taskOwners, reservedTasks, `${openTasks}${owner}`, `${dueTasks}${server}`],
      [openTasks, before, String(max), String(reservedMs), ...except.map((id) => before + id)],
    );
    const [owners, given, next] = reply as readonly [
      readonly string[],
      readonly string[],
      number | null,
    ];
    const candidates: Candidate[] = [];
    for (let n = 0; n < given.length; n += 3) {
      const [path = '', from = '', score = ''] = given.slice(n, n + 3);
      candidates.push({ taskId: path.slice(before.length), from, score });
    }
    return { owners, candidates, nextInMs: next ?? undefined };
  }

  /** Claims candidates that have no owner, and updates the indexes for all of them. */
  async #claimAll(
    { owner, server }: ClaimRequest,
    candidates: readonly Candidate[],
    owners: readonly string[],
  ): Promise<readonly TaskRecord[]> {
    if (candidates.length === 0) return [];
    const { reservedTasks, openTasks, dueTasks } = this.#keys;
    const from = [...new Set(candidates.flatMap((each) => each.from || []))];
    const keys = [...this.#changes, reservedTasks, `${openTasks}${owner}`, ...from];
    const taken = await Promise.allSettled(
      candidates.map(async (candidate) => {
        const { taskId, isOwn } = candidate;
        const asked = [owner, server, isOwn ? 'own' : '', ...owners];
        const reply = await this.#run('claim', [this.#keys.task(taskId)], asked);
        const record = recordOf(taskId, reply as FoundReply);
        const why = reply as readonly [string, string?];
        const place = String(keys.indexOf(candidate.from) + 1);
        // The process that was to wake the owner may have died before it did.
        const isUntold = candidate.from.startsWith(dueTasks) && /^(ours|owned)$/.test(why[0]);
        const refused = isUntold ? ['told', taskId] : [why[0], why[1] ?? ''];
        const became = record ? ['claimed', taskId] : refused;
        return { record, noted: [indexEntry(server, taskId), place, candidate.score, ...became] };
      }),
    );
    const known = taken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const args = [String(rememberedMs), ...known.flatMap(({ noted }) => noted)];
    // Without this update the candidates are found again.
    await this.#run('settle', keys, args).catch(() => {});
    const records = known.flatMap(({ record }) => record ?? []);
    const failed = taken.find((one) => one.status === 'rejected');
    if (failed && records.length === 0) throw failed.reason as Error;
    return records;
  }
}

const argsOf = (steps: readonly TaskStep[]) => steps.flatMap(({ key, text }) => [key, text]);

type FinishReply = readonly [
  became: number,
  owner?: string,
  server?: string,
  share?: string,
  ttlMs?: number,
];

type FoundReply = readonly [number, readonly string[], number] | readonly [string, string?];

/** Parses a hash reply of alternating names and values. */
function recordOf(taskId: string, reply: FoundReply): TaskRecord | undefined {
  const [ttlMs, values, now = 0] = reply;
  if (typeof ttlMs === 'string' || typeof values !== 'object' || values.length === 0) {
    return undefined;
  }
  const fields = new Map<string, string>();
  const steps: (TaskStep & { readonly place: number })[] = [];
  for (let n = 0; n < values.length; n += 2) {
    const [name, value] = [values[n]!, values[n + 1]!];
    fields.set(name, value);
    if (!name.startsWith(':')) continue;
    const [place = ''] = value.split(' ', 1);
    steps.push({ key: name.slice(1), text: value.slice(place.length + 1), place: Number(place) });
  }
  const field = (name: string) => fields.get(name) ?? '';
  const isParked = field('owner') === '' && field('state') === 'open';
  return {
    taskId,
    ttlMs,
    ...{ server: field('server'), owner: field('owner'), text: field('text') },
    ...{ fence: Number(field('fence')), claims: Number(field('claims')) },
    ...(isParked ? { dueInMs: Math.max(0, Number(field('dueAt')) - now) } : {}),
    state: field('state') as TaskRecord['state'],
    steps: steps.toSorted((a, b) => a.place - b.place).map(({ key, text }) => ({ key, text })),
  };
}
