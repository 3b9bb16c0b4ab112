/** Dump of a session: pending requests, states and queue levels. */
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

/** Snapshot of a session. */
export interface SessionDump extends PeerDump {
  /** Discriminator: `server` here, `host` for a connection. */
  readonly side: 'server';
  /**
   * Description of the state.
   */
  readonly tags: readonly SessionTag[];
  /** The client; undefined before the handshake. */
  readonly client?: {
    readonly name: string;
    readonly version: string;
    readonly revision: string;
    readonly capabilities: JsonObject;
  };
  /** HTTP connections, if the session is over HTTP. */
  readonly http?: HttpView;
  /** The client's roots. */
  readonly roots: {
    /**
     * State of the roots machine, such as `querying.stale`; `undeclared` if the client has none.
     */
    readonly state: string;
    /** Description of the state. */
    readonly tags: readonly RootsTag[];
    /** The roots, once known. */
    readonly status?: RootsStatus;
    readonly settled?: boolean;
    readonly generation?: number;
    readonly problem?: string;
    readonly list: readonly Root[];
  };
  /** Tasks in memory, oldest first. */
  readonly tasks: readonly TaskDump[];
  /** Task store; absent if tasks end with their process. */
  readonly durable?: {
    /** Lease of this process, which `mcp-actors tasks` shows for its tasks. */
    readonly lease: string;
    /** Number of parked tasks. */
    readonly givenUp: number;
  };
  /** States of the upstream servers of all clients; absent if there are none. */
  readonly servers?: readonly ServerState[];
  /** Waiting and running work, each with its limit. */
  readonly queues: PeerDump['queues'] & {
    readonly [
      name in
        | 'running'
        | 'waiting'
        | 'tasks'
        /** Memory of requests in flight, and of retained results. */
        | 'inFlightBytes'
        | 'retainedBytes'
    ]: SharedLevel;
  };
}

/** A task as sent to its client, with its run status if it is durable. */
export interface TaskDump extends Task, Partial<DurableRunStatus> {
  /** Time since its creation, milliseconds. */
  readonly ageMs: number;
  /** Number of requests that wait for its result. */
  readonly waiters: number;
  /** Set for an ordinary call of a durable tool. */
  readonly isCall?: boolean;
  /** Number of processes that ended while running the call; absent if none. */
  readonly restarts?: number;
}

/** Level of all clients together, in a shared session. */
interface SharedLevel extends Level {
  /** Limit per client; absent if there is only one. */
  readonly maxOfEach?: number;
}

/** The tasks of a session. */
interface TasksView {
  list(): readonly KeptTaskView[];
  readonly parkedCount: number;
}

/** A task, its run status, and the number of waiting requests. */
interface KeptTaskView {
  readonly item: Task;
  readonly hasEnded: boolean;
  readonly runStatus: DurableRunStatus | undefined;
  readonly waiters: number;
  /** True for an ordinary call of a durable tool. */
  readonly isCall: boolean;
  /** Number of processes that ended while running the task. */
  readonly restarts: number;
}

/** Inputs of a dump. */
export interface DumpSource {
  readonly id: string;
  readonly snapshot: Pick<
    SessionSnapshot,
    'status' | 'context' | 'value' | 'machine' | 'children' | 'hasTag'
  >;
  /** Undefined before the first task. */
  readonly tasks: TasksView | undefined;
  /** Lease of the process, if there is a task store. */
  readonly lease: string | undefined;
  /** Current time, ISO 8601. */
  readonly timeOfDay: string;
  readonly servers: readonly ServerState[];
  readonly limits: Limits;
  /** Memory retained for its clients, across their sessions. */
  readonly held: { readonly [use in MemoryUse]: number };
  readonly now: number;
  readonly startedAt: number;
  /** -Infinity before the first message. */
  readonly lastHeardAt: number;
}

/** State of a session; a failed one counts as closed. */
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
  // A durable call uses the slot of its request, not one of a task.
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

/** @param level with the limit of one client; see {@link maxClientsAtLimit} */
function sharedLevel({ count, max }: Level): SharedLevel {
  return { count, max: max * maxClientsAtLimit, maxOfEach: max };
}

/** Roots part of a dump. The machine exists only if the client declares roots and they were requested. */
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
