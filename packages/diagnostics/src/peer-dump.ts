/** What the dumps of a session and of a connection have in common: two peers ask each other. */
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

/** One side of a connection at one moment, as JSON can represent it. Times are milliseconds. */
export interface PeerDump {
  readonly id: string;
  /** The state with its inner state, such as `draining.flushing`. */
  readonly state: string;
  /** The time since the start. */
  readonly ageMs: number;
  /** The time since the peer's last message, or since the start if there was none. */
  readonly quietMs: number;
  /** Set until the peer has sent its first message. */
  readonly isUnheard?: true;
  /** Machines with their state. */
  readonly actors: readonly ActorDump[];
  /** What the peer asks; of a session also the work of tasks. */
  readonly calls: readonly CallDump[];
  /** What the peer was asked and has not answered. */
  readonly pending: readonly PendingDump[];
  /** How full the queues are. */
  readonly queues: {
    readonly running: Level;
    readonly waiting: Level;
    readonly pending: Level;
    readonly outboundBytes: Level;
    /** Why no request is started: `output` if the peer does not read. */
    readonly holds: readonly string[];
  };
}

/** An actor at one moment. */
export interface ActorDump {
  readonly id: string;
  /** The chart that it follows, if that is not called as the actor is. */
  readonly chart?: string;
  readonly kind: 'machine' | 'actor';
  readonly status: string;
  /**
   * A machine's, and that of an actor that shows one: whether the output flows, whether requests
   * are served.
   */
  readonly state?: string;
}

/** A request of the peer, or the work of a task. */
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
  /** How many requests it has sent that are not answered. */
  readonly openQuestions: number;
  /** Of a suspended call: what it has asked, the first few. */
  readonly questions?: readonly string[];
  /** Who asks, if each request says that itself. */
  readonly client?: { readonly name: string; readonly version: string };
  /** Set while its handler waits until the client's roots are known. */
  readonly awaitsRoots?: true;
  /** The task that it works on, if any. */
  readonly taskId?: string;
  /** If its tool is a machine: which one of those that run, and the state that it is in. */
  readonly machine?: { readonly id: string; readonly state: string };
}

/** A request that we have sent. */
export interface PendingDump {
  readonly id: RequestId;
  readonly method: string;
  /** `held`: not sent until the client has sent `notifications/initialized`, or the server is ready. */
  readonly state: 'held' | 'sent';
  readonly ageMs: number;
  /** The time until it times out. */
  readonly leftMs: number;
  /** The peer's request that it belongs to. */
  readonly relatedTo?: RequestId;
  /** The task that it belongs to. */
  readonly taskId?: string;
}

/** How full something is that has a bound. */
export interface Level {
  readonly count: number;
  readonly max: number;
}

/** The bounds that a dump tells. */
type PeerLimits = Pick<Limits, 'maxRunning' | 'maxWaiting' | 'maxPending' | 'maxOutboundBytes'> &
  Partial<Pick<Limits, 'suspendedCallTimeoutMs'>>;

/** The actors of one side whose views tell what is in flight; those of a channel may not be there. */
interface MessagingActors {
  readonly correlation: AnyActorRef;
  readonly router?: AnyActorRef | undefined;
  readonly writer?: AnyActorRef | undefined;
}

/** What two sides have in flight with each other, and how full their queues are. */
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

/** What is in flight both ways. */
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

/** True for a request that is answered when it is over, and not before: nobody waits for that. */
export function isLongLived({ method }: Pick<PendingDump, 'method'>): boolean {
  return method === Method.listen;
}

/** The children of a machine. */
export function dumpActors(children: {
  readonly [id: string]: AnyActorRef | undefined;
}): ActorDump[] {
  return Object.values(children).flatMap((actor) => (actor ? [dumpActor(actor)] : []));
}

/** @param chart the one that it follows, if that is not called as the actor is */
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

/** Of a call's questions, so many are told. */
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
