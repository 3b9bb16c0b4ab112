/** A dump of a session: what is pending and since when, its states, how full its queues are. */
import type { HttpView } from '../../../src/actors/writer/http-view.ts';
import { viewOf } from '../../../src/machines/port.ts';
import { stateName } from '../../../src/machines/names.ts';
import { rootsTags } from '../../../src/machines/roots.machine.ts';
import type { RootsTag } from '../../../src/machines/roots.machine.ts';
import { sessionTags } from '../../../src/machines/names.ts';
import type { SessionTag } from '../../../src/machines/names.ts';
import type { SessionSnapshot } from '../../../src/machines/session-state.ts';
import type { RootsStatus, Root } from '../../../src/protocol/roots.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { ServerState } from '../../../src/protocol/implementation.ts';
import { declaresRoots } from '../../../src/protocol/roots.ts';
import type { Task } from '../../../src/protocol/tasks.ts';
import { maxClientsAtLimit } from '../../../src/actors/limits.ts';
import type { Limits } from '../../../src/actors/limits.ts';
import type { DurableRunStatus } from '../../../src/actors/request-context.ts';
import type { MemoryUse } from '../../../src/actors/memory-budget.ts';
import { dumpActors, dumpInFlight, quietness } from './peer-dump.ts';
import type { Level, PeerDump } from './peer-dump.ts';

/** A session at one moment. */
export interface SessionDump extends PeerDump {
  /** Tells it from a host's connection. */
  readonly side: 'server';
  /**
   * What the state means: what the session waits for, whether it is in operation, how far its end
   * is.
   */
  readonly tags: readonly SessionTag[];
  /** The client, once it has introduced itself. */
  readonly client?: {
    readonly name: string;
    readonly version: string;
    readonly revision: string;
    readonly capabilities: JsonObject;
  };
  /** Its connections, if it is over HTTP. */
  readonly http?: HttpView;
  /** What is known of the client's roots. */
  readonly roots: {
    /**
     * The state of the roots machine, such as `querying.stale`; `undeclared` if the client has no
     * roots.
     */
    readonly state: string;
    /** What the state means, such as whether the client is being asked. */
    readonly tags: readonly RootsTag[];
    /** Present once something is known. */
    readonly status?: RootsStatus;
    readonly settled?: boolean;
    readonly generation?: number;
    readonly problem?: string;
    readonly list: readonly Root[];
  };
  /** The tasks that are kept, the oldest first. */
  readonly tasks: readonly TaskDump[];
  /** Where its tasks are written down; absent if they end with their process. */
  readonly durable?: {
    /** What the store knows this process by. `mcp-actors tasks` shows it of the tasks that it runs. */
    readonly lease: string;
    /** How many tasks wait for so long that they were given up here: they go on elsewhere when they are due. */
    readonly givenUp: number;
  };
  /** The servers behind it, those of all its clients; absent without any. */
  readonly servers?: readonly ServerState[];
  /** What waits and what runs, each with its bound. */
  readonly queues: PeerDump['queues'] & {
    readonly [
      name in
        | 'running'
        | 'waiting'
        | 'tasks'
        /** What the requests in flight come to, and what outlives its request. */
        | 'inFlightBytes'
        | 'retainedBytes'
    ]: SharedLevel;
  };
}

/** A task as its client sees it, and where its work stands if it can go on in another process. */
export interface TaskDump extends Task, Partial<DurableRunStatus> {
  /** The time since its creation, milliseconds. */
  readonly ageMs: number;
  /** How many requests wait for its result. */
  readonly waiters: number;
  /** Set for an ordinary call of a durable tool. */
  readonly isCall?: boolean;
  /** Processes that ended while running the call; absent if none did. */
  readonly restarts?: number;
}

/** Of all clients together, if many share the session. */
interface SharedLevel extends Level {
  /** The most that one of them may have; absent if there is but one. */
  readonly maxOfEach?: number;
}

/** The tasks of a session. */
interface TasksView {
  list(): readonly KeptTaskView[];
  readonly parkedCount: number;
}

/** A kept task, where its work stands, and the number of requests that wait for its result. */
interface KeptTaskView {
  readonly item: Task;
  readonly hasEnded: boolean;
  readonly runStatus: DurableRunStatus | undefined;
  readonly waiters: number;
  /** True for an ordinary call of a durable tool. */
  readonly isCall: boolean;
  /** Processes that ended while running it. */
  readonly restarts: number;
}

/** What a dump is made of. */
export interface DumpSource {
  readonly id: string;
  readonly snapshot: Pick<
    SessionSnapshot,
    'status' | 'context' | 'value' | 'machine' | 'children' | 'hasTag'
  >;
  /** Undefined before the first. */
  readonly tasks: TasksView | undefined;
  /** The lease of the process, if tasks are written down. */
  readonly lease: string | undefined;
  /** The time of day, ISO 8601. */
  readonly timeOfDay: string;
  readonly servers: readonly ServerState[];
  readonly limits: Limits;
  /** What is kept in memory for its clients, in all their sessions together. */
  readonly held: { readonly [use in MemoryUse]: number };
  readonly now: number;
  readonly startedAt: number;
  /** -Infinity before the first message. */
  readonly lastHeardAt: number;
}

/** A session that failed is closed, whatever state it failed in. */
function stateAndTags(snapshot: DumpSource['snapshot']): Pick<SessionDump, 'state' | 'tags'> {
  if (snapshot.status === 'error') return { state: 'closed', tags: ['closed'] };
  return {
    state: stateName(snapshot),
    tags: sessionTags.filter((tag) => snapshot.hasTag(tag)),
  };
}

export function dumpSession(source: DumpSource): SessionDump {
  const { id, snapshot, limits, held, now, startedAt } = source;
  const maxInFlightBytes = limits.maxRunningBytes + limits.maxWaitingBytes;
  const { context } = snapshot;
  const { client, report } = context;
  const writer = viewOf<{ readonly http?: HttpView }>(context.writer);
  const { queues, ...inFlight } = dumpInFlight(context, limits, now);
  const kept = source.tasks?.list() ?? [];
  // A call takes the place of its request, and none of a task.
  const tasks = kept.filter((task) => !task.hasEnded && !task.isCall).length;
  const { lease } = source;
  const ofAll = writer?.http?.kind === 'requests' ? sharedLevel : (level: Level) => level;
  return {
    side: 'server',
    id,
    ...stateAndTags(snapshot),
    ageMs: Math.round(now - startedAt),
    ...quietness(source),
    ...(client
      ? {
          client: {
            name: client.info.name,
            version: client.info.version,
            revision: client.dialect.version,
            capabilities: client.capabilities,
          },
        }
      : {}),
    ...(writer?.http ? { http: writer.http } : {}),
    actors: dumpActors(snapshot.children),
    roots: {
      ...rootsState(snapshot),
      ...(report
        ? { status: report.status, settled: report.settled, generation: report.generation }
        : {}),
      ...(report?.problem === undefined ? {} : { problem: report.problem }),
      list: report?.roots ?? [],
    },
    ...inFlight,
    tasks: kept.map((task) => taskDump(task, source.timeOfDay)),
    ...(lease === undefined ? {} : { durable: { lease, givenUp: source.tasks?.parkedCount ?? 0 } }),
    ...(source.servers.length > 0 ? { servers: source.servers } : {}),
    queues: {
      ...queues,
      running: ofAll(queues.running),
      waiting: ofAll(queues.waiting),
      tasks: ofAll({ count: tasks, max: limits.maxTasks }),
      inFlightBytes: ofAll({ count: held.inFlight, max: maxInFlightBytes }),
      retainedBytes: ofAll({ count: held.retained, max: limits.maxRetainedBytes }),
    },
  };
}

function taskDump(task: KeptTaskView, timeOfDay: string): TaskDump {
  const { item, runStatus, waiters, isCall, restarts } = task;
  const ageMs = Math.max(0, Date.parse(timeOfDay) - Date.parse(item.createdAt));
  return {
    ...{ ...item, ...runStatus, ageMs, waiters },
    ...(isCall ? { isCall } : {}),
    ...(restarts > 0 ? { restarts } : {}),
  };
}

/** @param level has the bound of one client; see {@link maxClientsAtLimit} */
function sharedLevel({ count, max }: Level): SharedLevel {
  return { count, max: max * maxClientsAtLimit, maxOfEach: max };
}

/** There is no machine if the client declares no roots, or if they have not been needed yet. */
function rootsState(
  session: Pick<SessionSnapshot, 'context' | 'hasTag'>,
): Pick<SessionDump['roots'], 'state' | 'tags'> {
  const { roots, client } = session.context;
  if (roots) {
    const snapshot = roots.getSnapshot();
    return { state: stateName(snapshot), tags: rootsTags.filter((tag) => snapshot.hasTag(tag)) };
  }
  if (client && !declaresRoots(client.capabilities)) {
    return { state: 'undeclared', tags: ['settled'] };
  }
  const isDeferred = session.hasTag('operating');
  return isDeferred ? { state: 'deferred', tags: ['deferred'] } : { state: 'unasked', tags: [] };
}
