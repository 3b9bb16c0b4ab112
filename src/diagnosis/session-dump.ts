/** A dump of a session: what is pending and since when, its states, how full its queues are. */
import type { AnyActorRef, AnyMachineSnapshot, Snapshot } from 'xstate';
import type { SuspendedCall } from '../actors/exchange.ts';
import type { Call, CallState } from '../actors/router/call.ts';
import type { PendingRequest } from '../actors/correlation/pending-request.ts';
import type { RouterView } from '../actors/router/router.actor.ts';
import type { HttpView } from '../actors/writer/http-view.ts';
import type { WriterView } from '../actors/writer/outbound-flow.ts';
import { viewOf } from '../machines/port.ts';
import { stateName } from '../machines/state-name.ts';
import { rootsTags } from '../machines/roots.machine.ts';
import type { RootsTag } from '../machines/roots.machine.ts';
import { sessionTags } from '../machines/session-tags.ts';
import type { SessionTag } from '../machines/session-tags.ts';
import type { RootsStatus } from '../machines/roots-report.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import type { Root } from '../machines/roots-report.ts';
import { relatedTaskId } from '../protocol/tasks.ts';
import type { Task } from '../protocol/tasks.ts';
import type { Limits } from '../actors/limits.ts';
import type { SessionSnapshot } from '../machines/session-state.ts';

/** A session at one moment, as JSON can represent it. Times are milliseconds. */
export interface SessionDump {
  readonly id: string;
  /** The state with its inner state, such as `draining.flushing`. */
  readonly state: string;
  /**
   * What the state means: what the session waits for, whether it is in operation, how far its end
   * is.
   */
  readonly tags: readonly SessionTag[];
  /** The time since the session started. */
  readonly ageMs: number;
  /** The time since the client's last message, or since the start if there was none. */
  readonly quietMs: number;
  /** The client, once it has introduced itself. */
  readonly client?: {
    readonly name: string;
    readonly version: string;
    readonly revision: string;
    readonly capabilities: JsonObject;
  };
  /** Its connections, if it is over HTTP. */
  readonly http?: HttpView;
  /** The session's actors; machines with their state. */
  readonly actors: readonly ActorDump[];
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
  /** The client's requests, and the work of tasks. */
  readonly calls: readonly CallDump[];
  /** The session's requests that the client has not answered. */
  readonly pending: readonly PendingDump[];
  readonly tasks: readonly (Task & { readonly waiters: number })[];
  /** How full the queues are. */
  readonly queues: {
    readonly running: Level;
    readonly waiting: Level;
    readonly pending: Level;
    readonly outboundBytes: Level;
    readonly tasks: Level;
    /**
     * Why no request is started: `output` if the client does not read, `preparation` if a handler
     * loads something.
     */
    readonly holds: readonly string[];
  };
}

export interface ActorDump {
  readonly id: string;
  readonly kind: 'machine' | 'actor';
  readonly status: string;
  /**
   * A machine's, and that of an actor that shows one: whether the output flows, whether requests
   * are served.
   */
  readonly state?: string;
}

export interface CallDump {
  readonly id: RequestId;
  readonly method: string;
  /** The name of the tool or prompt, the resource's URI, or the task's id. */
  readonly subject?: string;
  /** `suspended`: it has asked its client by ending, and waits for the retry. */
  readonly state: CallState | 'suspended';
  readonly ageMs: number;
  /** Of a suspended call: the time since it has asked its client, and until it is ended. */
  readonly suspendedMs?: number;
  readonly leftMs?: number;
  /** How many requests it has sent that the client has not answered. */
  readonly openQuestions: number;
  /** Set while its handler waits until the client's roots are known. */
  readonly awaitsRoots?: true;
  /** The task that it works on, if any. */
  readonly taskId?: string;
  /** If its tool is a machine: which one of those that run, and the state that it is in. */
  readonly machine?: { readonly id: string; readonly state: string };
}

export interface PendingDump {
  readonly id: RequestId;
  readonly method: string;
  /** `held`: not sent until the client has sent `notifications/initialized`. */
  readonly state: 'held' | 'sent';
  readonly ageMs: number;
  /** The time until it times out. */
  readonly leftMs: number;
  /** The client's request that it belongs to. */
  readonly relatedTo?: RequestId;
  /** The task that it belongs to. */
  readonly taskId?: string;
}

interface Level {
  readonly count: number;
  readonly max: number;
}

/** A kept task, and the number of requests that wait for its result. */
interface KeptTaskView {
  readonly item: Task;
  readonly hasEnded: boolean;
  readonly waiters: number;
}

/** What a dump is made of. */
export interface DumpSource {
  readonly id: string;
  readonly snapshot: Pick<
    SessionSnapshot,
    'status' | 'context' | 'value' | 'machine' | 'children' | 'hasTag'
  >;
  readonly tasks: readonly KeptTaskView[];
  readonly limits: Limits;
  readonly now: number;
  readonly startedAt: number;
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
  const { id, snapshot, limits, now, startedAt, lastHeardAt } = source;
  const { context } = snapshot;
  const { client, report } = context;
  const router = viewOf<RouterView>(context.router);
  const pending = [
    ...(viewOf<ReadonlyMap<RequestId, PendingRequest>>(context.correlation)?.values() ?? []),
  ];
  const writer = viewOf<Partial<WriterView> & { readonly http?: HttpView }>(context.writer);
  const tasks = source.tasks.filter((task) => !task.hasEnded).length;
  return {
    id,
    ...stateAndTags(snapshot),
    ageMs: Math.round(now - startedAt),
    quietMs: Math.round(now - Math.max(lastHeardAt, startedAt)),
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
    actors: Object.values(snapshot.children).flatMap((actor) => (actor ? [dumpActor(actor)] : [])),
    roots: {
      ...rootsState(context),
      ...(report
        ? { status: report.status, settled: report.settled, generation: report.generation }
        : {}),
      ...(report?.problem === undefined ? {} : { problem: report.problem }),
      list: report?.roots ?? [],
    },
    calls: [...(router?.calls ?? [])].map((call) => dumpCall(call, now, limits)),
    pending: pending.map((request) => dumpPending(request, now)),
    tasks: source.tasks.map((task) => ({ ...task.item, waiters: task.waiters })),
    queues: {
      running: { count: router?.running ?? 0, max: limits.maxRunning },
      waiting: { count: router?.waiting ?? 0, max: limits.maxWaiting },
      pending: { count: pending.length, max: limits.maxPending },
      outboundBytes: { count: writer?.queuedBytes ?? 0, max: limits.maxOutboundBytes },
      tasks: { count: tasks, max: limits.maxTasks },
      holds: [...(router?.holds ?? [])],
    },
  };
}

/** There is no machine if the client declares no roots. */
function rootsState({
  roots,
  client,
}: SessionSnapshot['context']): Pick<SessionDump['roots'], 'state' | 'tags'> {
  if (roots) {
    const snapshot = roots.getSnapshot();
    return { state: stateName(snapshot), tags: rootsTags.filter((tag) => snapshot.hasTag(tag)) };
  }
  return client ? { state: 'undeclared', tags: ['settled'] } : { state: 'unasked', tags: [] };
}

function dumpActor(actor: AnyActorRef): ActorDump {
  const { id } = actor;
  const snapshot = actor.getSnapshot() as Snapshot<unknown> | AnyMachineSnapshot;
  const { status } = snapshot;
  if ('machine' in snapshot) return { id, kind: 'machine', status, state: stateName(snapshot) };
  const { state } = viewOf<{ readonly state?: string }>(actor) ?? {};
  return { id, kind: 'actor', status, ...(state === undefined ? {} : { state }) };
}

function dumpCall(
  call: Call | SuspendedCall,
  now: number,
  { suspendedCallTimeoutMs }: Limits,
): CallDump {
  const { id, method, params, state, receivedAt, openQuestions, rootsAwaited, task } = call;
  const { machine } = call;
  const subject = params?.['name'] ?? params?.['uri'] ?? params?.['taskId'];
  return {
    id,
    method,
    ...(typeof subject === 'string' ? { subject } : {}),
    state,
    ageMs: Math.round(now - receivedAt),
    ...('suspendedAt' in call
      ? {
          suspendedMs: Math.round(now - call.suspendedAt),
          leftMs: Math.round(call.suspendedAt + suspendedCallTimeoutMs - now),
        }
      : {}),
    openQuestions,
    ...(rootsAwaited > 0 ? { awaitsRoots: true } : {}),
    ...(task ? { taskId: task.taskId } : {}),
    ...(machine ? { machine: { id: machine.id, state: stateOfMachine(machine) } } : {}),
  };
}

function stateOfMachine(machine: AnyActorRef): string {
  return stateName(machine.getSnapshot() as AnyMachineSnapshot);
}

function dumpPending(
  { id, method, state, sentAt, dueAt, request }: PendingRequest,
  now: number,
): PendingDump {
  const { relatedTo, meta } = request;
  const taskId = relatedTaskId(meta);
  return {
    id,
    method,
    state,
    ageMs: Math.round(now - sentAt),
    leftMs: Math.round(dueAt - now),
    ...(relatedTo ? { relatedTo: relatedTo.id } : {}),
    ...(taskId === undefined ? {} : { taskId }),
  };
}
