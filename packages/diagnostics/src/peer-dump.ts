/** Common part of the dumps of sessions and connections. */
import type { AnyActorRef, AnyMachineSnapshot, Snapshot } from 'xstate';
import type { PendingRequest } from '../../../src/actors/correlation/correlation.actor.ts';
import type { SuspendedCall } from '../../../src/actors/request-context.ts';
import type { Limits } from '../../../src/actors/limits.ts';
import type { Call, CallState } from '../../../src/actors/router/call.ts';
import type { RouterView } from '../../../src/actors/router/router.actor.ts';
import type { MachineActor } from '../../../src/actors/transitions.ts';
import type { WriterView } from '../../../src/actors/writer/outbound-flow.ts';
import { viewOf } from '../../../src/machines/port.ts';
import { stateName } from '../../../src/machines/names.ts';
import type { RequestId } from '../../../src/protocol/frames.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { relatedTaskId } from '../../../src/protocol/tasks.ts';

/** Serializable snapshot of one side of a connection. Times in milliseconds. */
export interface PeerDump {
  readonly id: string;
  /** State with inner state, such as `draining.flushing`. */
  readonly state: string;
  /** Time since the start. */
  readonly ageMs: number;
  /** Time since the peer's last message, or else since the start. */
  readonly quietMs: number;
  /** True until the peer's first message. */
  readonly isUnheard?: true;
  /** Actors with their states. */
  readonly actors: readonly ActorDump[];
  /** Requests of the peer; for a session also running tasks. */
  readonly calls: readonly CallDump[];
  /** Unanswered requests to the peer. */
  readonly pending: readonly PendingDump[];
  /** Levels of the queues. */
  readonly queues: {
    readonly running: Level;
    readonly waiting: Level;
    readonly pending: Level;
    readonly outboundBytes: Level;
    /** Why requests are not started: `output` if the peer does not read. */
    readonly holds: readonly string[];
  };
}

/** Snapshot of an actor. */
export interface ActorDump {
  readonly id: string;
  /** Chart name, if it differs from the actor's. */
  readonly chart?: string;
  readonly kind: 'machine' | 'actor';
  readonly status: string;
  /**
   * State of a machine, or of an actor that exposes one.
   */
  readonly state?: string;
}

/** A request of the peer, or a running task. */
export interface CallDump {
  readonly id: RequestId;
  readonly method: string;
  /** Tool or prompt name, resource URI, or task id. */
  readonly subject?: string;
  /** `suspended`: returned `input_required` and awaits the retry. */
  readonly state: CallState | 'suspended';
  readonly ageMs: number;
  /** For a suspended call: time since the question, and remaining time. */
  readonly suspendedMs?: number;
  readonly leftMs?: number;
  /** Number of unanswered requests of the call. */
  readonly openQuestions: number;
  /** For a suspended call: the first questions. */
  readonly questions?: readonly string[];
  /** Client, if each request describes it. */
  readonly client?: { readonly name: string; readonly version: string };
  /** True while the handler waits for the client's roots. */
  readonly awaitsRoots?: true;
  /** Id of the task, if the request runs as one. */
  readonly taskId?: string;
  /** Id and state of a machine tool. */
  readonly machine?: { readonly id: string; readonly state: string };
}

/** A sent request. */
export interface PendingDump {
  readonly id: RequestId;
  readonly method: string;
  /** `held`: delayed until `notifications/initialized`, or until the server is ready. */
  readonly state: 'held' | 'sent';
  readonly ageMs: number;
  /** Remaining time until the timeout. */
  readonly leftMs: number;
  /** The related request of the peer. */
  readonly relatedTo?: RequestId;
  /** The related task. */
  readonly taskId?: string;
}

/** Current value and limit. */
export interface Level {
  readonly count: number;
  readonly max: number;
}

/** Limits shown in a dump. */
type PeerLimits = Pick<Limits, 'maxRunning' | 'maxWaiting' | 'maxPending' | 'maxOutboundBytes'> &
  Partial<Pick<Limits, 'suspendedCallTimeoutMs'>>;

/** Actors whose views show requests in flight. A channel's actors may be missing. */
interface MessagingActors {
  readonly correlation: AnyActorRef;
  readonly router?: AnyActorRef | undefined;
  readonly writer?: AnyActorRef | undefined;
}

/** Requests in flight both ways, and queue levels. */
export type InFlight = Pick<PeerDump, 'calls' | 'pending' | 'queues'>;

/** @param times `lastHeardAt` is -Infinity before the first message */
export function quietness(times: {
  readonly now: number;
  readonly startedAt: number;
  readonly lastHeardAt: number;
}): Pick<PeerDump, 'quietMs' | 'isUnheard'> {
  const { now, startedAt, lastHeardAt } = times;
  const quietMs = Math.round(now - Math.max(lastHeardAt, startedAt));
  return { quietMs, ...(lastHeardAt === -Infinity ? { isUnheard: true as const } : {}) };
}

/** Collects the requests in flight both ways. */
export function dumpInFlight(
  { correlation, router: routing, writer: writing }: MessagingActors,
  limits: PeerLimits,
  now: number,
): InFlight {
  const router = routing && viewOf<RouterView>(routing);
  const writer = writing && viewOf<Partial<WriterView>>(writing);
  const books = viewOf<ReadonlyMap<unknown, PendingRequest>>(correlation);
  const pending = [...(books?.values() ?? [])];
  return {
    calls: [...(router?.calls ?? [])].map((call) => dumpCall(call, now, limits)),
    pending: pending.map((request) => dumpPending(request, now)),
    queues: {
      running: { count: router?.running ?? 0, max: limits.maxRunning },
      waiting: { count: router?.waiting ?? 0, max: limits.maxWaiting },
      pending: { count: pending.length, max: limits.maxPending },
      outboundBytes: { count: writer?.queuedBytes ?? 0, max: limits.maxOutboundBytes },
      holds: [...(router?.holds ?? [])],
    },
  };
}

/** True for long-lived requests such as subscriptions, which are not waits. */
export function isLongLived({ method }: Pick<PendingDump, 'method'>): boolean {
  return method === Method.listen;
}

/** Child actors of a machine. */
export function dumpActors(children: {
  readonly [id: string]: AnyActorRef | undefined;
}): ActorDump[] {
  return Object.values(children).flatMap((actor) => (actor ? [dumpActor(actor)] : []));
}

/** @param chart chart name, if it differs from the actor's */
export function dumpActor(actor: MachineActor['actor'], chart?: string): ActorDump {
  const { id } = actor;
  const snapshot = actor.getSnapshot() as Snapshot<unknown> | AnyMachineSnapshot;
  const { status } = snapshot;
  if ('machine' in snapshot) {
    const drawn = chart === undefined || chart === id ? {} : { chart };
    return { id, ...drawn, kind: 'machine', status, state: stateName(snapshot) };
  }
  const { state } = viewOf<{ readonly state?: string }>(actor) ?? {};
  return { id, kind: 'actor', status, ...(state === undefined ? {} : { state }) };
}

/** Maximum number of listed questions per call. */
const maxQuestions = 4;

function dumpCall(
  call: Call | SuspendedCall,
  now: number,
  { suspendedCallTimeoutMs = 0 }: PeerLimits,
): CallDump {
  const { request, state, receivedAt, rootsAwaited, task, machine } = call;
  const { id, method, params, peer } = request;
  const { name, version } = peer.info;
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
          questions: call.questions.slice(0, maxQuestions),
        }
      : {}),
    ...('suspendedAt' in call || !call.sendsRequests ? { client: { name, version } } : {}),
    openQuestions: 'suspendedAt' in call ? call.questions.length : call.openRequests,
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
