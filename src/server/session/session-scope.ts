/**
 * What belongs to one session. Machines, actors and features are made once and serve every session;
 * the inputs of the machine and its ports carry the scope to each of them. What a session may never
 * need is created when it is needed.
 */
import type { InspectionEvent, Observer } from 'xstate';
import type { RootsResolver } from '../../protocol/roots.ts';
import type { RequestContext, RequestHandler } from '../../actors/request-context.ts';
import type { Clock } from '../../actors/clock.ts';
import { LazySuspendableCalls } from '../../rounds/lazy-suspendable-calls.ts';
import type { StateSealer } from '../../rounds/request-state.ts';
import { RequestIds } from '../../actors/correlation/correlation.actor.ts';
import type { RouterView } from '../../actors/router/router.actor.ts';
import type { Reservation } from '../../actors/memory-budget.ts';
import { Quotas } from '../../actors/memory-budget.ts';
import { Traffic } from '../../actors/traffic.ts';
import { unprovided, viewOf } from '../../machines/port.ts';
import type { DeliveryEvent, TransportActors } from '../../machines/peer-ports.ts';
import type { SharedTransportActors } from '../../transports/transport.ts';
import type { ActorlessSession } from './actorless-session.ts';
import type { Report } from '../../actors/facts.ts';
import type { PreparationOutcome, RootsRef } from '../../machines/session-context.ts';
import type { InitializeReceived } from '../../machines/session-ports.ts';
import type { SessionEmitted } from '../../machines/session.machine.ts';
import type { SessionActorRef, SessionState } from '../../machines/session-state.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';
import type {
  InboundNotification,
  JsonObject,
  OutboundNotification,
} from '../../protocol/frames.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import { Method } from '../../protocol/methods.ts';
import { declaresRoots } from '../../protocol/roots.ts';
import { CallContext } from '../context/call-context.ts';
import type { ContextScope } from '../context/call-context.ts';
import { OpenElicitations } from '../context/elicitation.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { SessionLog, undeclaredLog } from '../context/session-log.ts';
import type { LoggingOptions } from '../context/session-log.ts';
import { sendAuthored } from '../context/session-view.ts';
import type { SessionHandle } from '../context/session-view.ts';
import { defaultReport } from './default-report.ts';
import { safeReport } from '../../actors/facts.ts';
import { defaultLimits, mergeLimits } from '../../actors/limits.ts';
import type { Limits } from '../../actors/limits.ts';
import type { RandomIdUse, SessionEnvironment } from './session-environment.ts';
import { stateOf } from '../../machines/session-state.ts';
import { newTaskId } from '../../../packages/tasks/src/task-ids.ts';
import type { TaskWorker } from '../../../packages/tasks/src/task-worker.ts';
import { Transitions } from '../../actors/transitions.ts';
import type { Recipient } from '../../machines/port.ts';

/** The options that a session's scope reads. */
export interface ScopeOptions {
  /** Overrides of {@link defaultLimits}. */
  readonly limits?: Partial<Limits>;
  /**
   * How calls go on that have asked their client, since 2026-07-28. `keep`: a handler stays where it
   * stands. `replay`: it is always run again, as it would be in another process; for tests.
   */
  readonly resume?: 'keep' | 'replay';
  /** Hears what happens. By default, warnings and errors go to stderr. */
  readonly report?: Report;
  /** The time of day, for the timestamps that clients get, such as a task's. */
  readonly wallClock?: () => Date;
  /**
   * Makes unguessable ids for tasks and for requests to the client; by default the platform's
   * random UUIDs. Tests may give predictable ones.
   */
  readonly randomId?: () => string;
  /**
   * Called with XState's inspection events. Inspection makes every event cost more. In a host's own
   * system it gets only the actors of tasks, which are systems of their own; the host sees the rest
   * by inspecting its system.
   */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
  /** Writes tasks down, so that they outlive the process. `serve` makes it of its option `durable`. */
  readonly durable?: TaskWorker;
  /** True if a supervisor holds the host's pipe and resends calls that the process leaves unanswered. */
  readonly supervised?: boolean;
  /** Keeps what handlers enable and disable, for a session that may go on elsewhere. */
  readonly switches?: SwitchKeeper;
}

/** What is enabled and disabled in a session, written down outside of it. */
export interface SwitchKeeper {
  /** The names, and whether they are enabled, as an earlier copy of the session has left them. */
  readonly made: ReadonlyMap<string, boolean>;
  /** Writes down a change. What the session answers from now on waits for it. */
  note(name: string, isEnabled: boolean): void;
}

/** The environment that a session's host gives it, and the two clocks that follow from it. */
export interface SessionHost {
  readonly environment: SessionEnvironment;
  /** The clock of the session's own actors, from its environment. */
  readonly clock: Clock;
  /** The clock of the author's code and of everything that watches the session. */
  readonly hostClock: Clock;
}

/** The two actors of a session's transport, and what it knows of the session; see `SharedTransportActors`. */
export type SessionEnds = TransportActors &
  Partial<Omit<SharedTransportActors, keyof TransportActors>>;

const nobody: ServerDescription = { serverInfo: { name: '', version: '' }, capabilities: {} };
const noHandlers: ReadonlyMap<string, RequestHandler> = new Map();
const noActors: SessionEnds = { reader: unprovided('reader'), writer: unprovided('writer') };

export abstract class SessionScope implements SessionHandle {
  /** Started when it is needed, if the session begins without. */
  abstract readonly actor: SessionActorRef;
  readonly environment: SessionEnvironment;
  readonly clock: Clock;
  readonly hostClock: Clock;
  readonly limits: Limits;
  /** Never throws. */
  readonly report: Report;
  /** The ids of the session's requests to the client. */
  readonly requestIds = new RequestIds(() => this.randomId('request'));
  readonly traffic: Traffic;
  /** By the host's clock. */
  readonly startedAt: number;
  /** How the server describes itself to this session. Set before the session starts. */
  server = nobody;
  /** By method. Set before the session starts. */
  handlers = noHandlers;
  /** The transport's two actors. Set before the session starts. */
  actors = noActors;
  /** The names that were enabled (true) or disabled in it; undefined if none ever was. */
  switches: Map<string, boolean> | undefined;
  /** The event that the session emitted last. */
  lastEmitted: SessionEmitted | undefined = undefined;
  /** See `ServerDefinition.caching`. */
  abstract readonly discovery: CacheHints;
  /** How the server logs to its clients; undefined if it has not declared that it does. */
  abstract readonly logging: LoggingOptions | undefined;
  /** Seals the states that travel through clients. */
  abstract readonly sealer: StateSealer;
  /** See `ServerDefinition.resolveRoots`. */
  abstract readonly resolveRoots: RootsResolver | undefined;
  readonly #options: ScopeOptions;
  #id: string | undefined = undefined;
  #quotas: Quotas | undefined = undefined;
  #rootsRetained: Reservation | undefined = undefined;
  #transitions: Transitions | undefined = undefined;
  #log: SessionLog | undefined = undefined;
  #contexts: ContextScope | undefined = undefined;
  #releases: (() => void)[] | undefined = undefined;

  constructor(options: ScopeOptions, { environment, clock, hostClock }: SessionHost) {
    this.environment = environment;
    this.clock = clock;
    this.hostClock = hostClock;
    this.limits = options.limits ? mergeLimits(options.limits) : defaultLimits;
    this.report = safeReport(options.report ?? defaultReport);
    this.startedAt = hostClock.now();
    this.#options = options;
    this.switches = options.switches?.made.size ? new Map(options.switches.made) : undefined;
    this.traffic = new Traffic(this);
  }

  /** What serves the session while it has no actors. */
  abstract readonly actorless: ActorlessSession | undefined;

  abstract resourceUpdated(uri: string): void;

  abstract enable(name: string): void;

  abstract disable(name: string): void;

  /** Shows or hides what has this name here. @returns false if it is so already */
  switch(name: string, isEnabled: boolean): boolean {
    const { switches } = this.#options;
    this.switches ??= new Map(switches?.made);
    if (this.switches.get(name) === isEnabled) return false;
    this.switches.set(name, isEnabled);
    switches?.note(name, isEnabled);
    return true;
  }

  /** See `ServerDefinition.upstream`: finds out what the server has for the client. */
  abstract prepare(received: InitializeReceived, signal?: AbortSignal): Promise<PreparationOutcome>;

  /** Whether the server has an upstream. */
  abstract readonly isPrepared: boolean;

  /** The same for the client of a call; undefined if the server has the same for all. */
  abstract readonly describe: ((call: RequestContext) => Promise<ServerDescription>) | undefined;

  /** Hands a notification to the upstream. @returns false if there is none that takes it */
  abstract forwards(notification: InboundNotification): boolean;

  /** Pauses the upstreams while the client does not read. */
  abstract onBackpressure(isBlocked: boolean): void;

  elicitationCompleted(elicitationId: string): boolean {
    if (!this.isOperating || !this.#contexts?.elicitations.close(elicitationId)) return false;
    this.notify(Method.elicitationComplete, { elicitationId });
    return true;
  }

  // Made when first read: for it Node loads crypto, which would delay the first answer.
  get id(): string {
    return (this.#id ??= crypto.randomUUID());
  }

  get state(): SessionState {
    return stateOf(this.actor.getSnapshot());
  }

  /** Who is at the other end, as messages call it. */
  get peer(): 'client' {
    return 'client';
  }

  /** When the client was last heard, by the session's clock; -Infinity before that. */
  get lastHeardAt(): number {
    const { router } = this.actor.getSnapshot().context;
    return viewOf<RouterView>(router)?.lastHeardAt ?? -Infinity;
  }

  /** How the server described itself to the client. */
  get declared(): ServerDescription {
    return (this.actorless ?? this.actor.getSnapshot().context).server;
  }

  get isOperating(): boolean {
    const { actorless } = this;
    if (actorless) return actorless.isOperating;
    return this.actor.getSnapshot().hasTag('operating');
  }

  /** Towards which what its clients hold in memory counts. */
  get quotas(): Quotas {
    return (this.#quotas ??= this.actors.quotas ?? new Quotas());
  }

  /** Counts the client's list of roots. @returns false if there is no room for so many bytes */
  retainRoots(bytes: number): boolean {
    const { maxRetainedBytes: max } = this.limits;
    if (this.#rootsRetained) return this.#rootsRetained.resize(bytes, max);
    const retained = this.quotas.reserve(undefined, bytes, max);
    this.#rootsRetained = retained;
    if (retained) this.atEnd(() => retained.release());
    return retained !== undefined;
  }

  /** See {@link ScopeOptions.resume}. */
  get resumption(): 'keep' | 'replay' {
    return this.#options.resume ?? 'keep';
  }

  get durable(): TaskWorker | undefined {
    return this.#options.durable;
  }

  /** See {@link ScopeOptions.supervised}. */
  get isSupervised(): boolean {
    return this.#options.supervised === true;
  }

  get inspect(): ScopeOptions['inspect'] {
    return this.#options.inspect;
  }

  /** The transitions of the session's machines. */
  get transitions(): Transitions {
    if (!this.#transitions) {
      this.#transitions = new Transitions(this.report);
      this.observeMachines(this.#transitions);
    }
    return this.#transitions;
  }

  /** Called once the session is observed. */
  protected observeMachines(_: Transitions): void {}

  /** {@link transitions}, if anything has ever asked for them. */
  get observedTransitions(): Transitions | undefined {
    return this.#transitions;
  }

  /** The machine of the client's roots, if it declares any: made now for a client that had not to be asked before. */
  roots(): RootsRef | undefined {
    if (this.actorless && !declaresRoots(this.actorless.client.capabilities)) return undefined;
    const { status, context } = this.actor.getSnapshot();
    const { roots, client } = context;
    if (roots || status !== 'active' || !declaresRoots(client?.capabilities)) return roots;
    this.actor.send({ type: 'roots.needed' });
    return this.actor.getSnapshot().context.roots;
  }

  /** The context of a call's handler: one for each call, so that middleware and handler share its progress. */
  contextOf(call: RequestContext): HandlerContext {
    const known = call.context as HandlerContext | undefined;
    if (known) return known;
    this.#contexts ??= {
      limits: this.limits,
      clock: this.hostClock,
      log: this.logging ? this.log : undeclaredLog(this.report),
      session: this,
      elicitations: new OpenElicitations(),
    };
    const made = new CallContext(call, this.#contexts);
    call.context = made;
    return made;
  }

  /** The log of the session's handlers to their client. */
  get log(): SessionLog {
    if (this.#log) return this.#log;
    const { limits, hostClock: clock, report } = this;
    const { maxLogsPerSecond } = limits;
    const log = new SessionLog({ level: 'info', ...this.logging, maxLogsPerSecond, clock, report });
    this.atEnd(() => log.stop());
    this.#log = log;
    return log;
  }

  /** What serves the session's calls that ask by ending. */
  createSuspendableCalls(onSettled: () => void): LazySuspendableCalls {
    const { clock, environment, limits, report, quotas } = this;
    const sealer = environment.sealer(this.sealer);
    return new LazySuspendableCalls({
      ...{ clock, limits, report, quotas, sealer, onCallSettled: onSettled },
      timeOfDay: () => Date.parse(this.timeOfDay()),
      randomId: () => this.randomId('call'),
      resolveRoots: () => environment.resolveRoots(this.resolveRoots),
      resumption: this.resumption,
    });
  }

  /**
   * Sends a notification to the client. Does nothing unless the session is in operation.
   *
   * @param reportTo gets `frame.rejected` if it cannot be sent
   * @returns whether the session is in operation
   */
  send(method: string, params?: JsonObject, reportTo?: Recipient<DeliveryEvent>): boolean {
    if (!this.isOperating) return false;
    const frame: OutboundNotification = params
      ? { jsonrpc: '2.0', method, params }
      : { jsonrpc: '2.0', method };
    const { writer } = this.actorless ?? this.actor.getSnapshot().context;
    writer.send({ type: 'frames.send', frames: [frame], reportTo });
    return true;
  }

  /** Sends a notification of the author's code or of the host. */
  notify(method: string, params?: JsonObject): boolean {
    return sendAuthored(method, (reportTo) => {
      let isSent = false;
      const send = (name: string, body?: JsonObject) => {
        isSent = this.send(name, body, reportTo);
      };
      this.environment.notify(send, method, params);
      return isSent;
    });
  }

  /**
   * Calls back once the session is in operation; at once if it already is. Returns what ends that.
   */
  whenOperating(listener: () => void): () => void {
    if (this.isOperating) {
      listener();
      return () => {};
    }
    const subscription = this.actor.on('session.initialized', listener);
    return () => subscription.unsubscribe();
  }

  /** The time of day, ISO 8601. */
  wallTime(): string {
    const { wallClock } = this.#options;
    return (wallClock ? wallClock() : new Date()).toISOString();
  }

  /** The time of day of tasks, ISO 8601. */
  timeOfDay(): string {
    return this.environment.timeOfDay?.() ?? this.wallTime();
  }

  /** Makes an unguessable id. */
  randomId(of: RandomIdUse): string {
    const { randomId = of === 'task' ? newTaskId : () => crypto.randomUUID() } = this.#options;
    const make = () => randomId();
    return this.environment.randomId?.(of, make) ?? make();
  }

  /** Calls back at the end of the session. */
  atEnd(release: () => void): void {
    // An array that grows takes room for sixteen more, and most sessions have one.
    if (this.#releases) this.#releases.push(release);
    else this.#releases = [release];
  }

  /** Calls back everything that waits for the end. Repeating it changes nothing. */
  end(): void {
    const releases = this.#releases;
    this.#releases = undefined;
    for (const release of releases ?? []) release();
  }

  /** Keeps the scope out of a machine's context that an inspector serializes. */
  toJSON(): undefined {
    return undefined;
  }
}

/** The session in an actor's input. @throws {TypeError} there is none */
export function sessionIn({ scope }: { readonly scope?: object | undefined }): SessionScope {
  if (scope instanceof SessionScope) return scope;
  throw new TypeError(
    'The input of an actor of a session has no "scope": hand on what it was given',
  );
}

/** The session that a call belongs to. */
export function scopeOfCall({ request: { session } }: RequestContext): SessionScope {
  return sessionIn({ scope: session });
}

/** See {@link SessionScope.contextOf}. */
export function contextOf(call: RequestContext): HandlerContext {
  return scopeOfCall(call).contextOf(call);
}

/** A value for each session, kept by code that serves all sessions. Created when first needed. */
export class PerSession<T> {
  readonly #made = new WeakMap<SessionScope, T>();
  readonly #make: (session: SessionScope) => T;

  constructor(make: (session: SessionScope) => T) {
    this.#make = make;
  }

  of(session: SessionScope): T {
    let made = this.#made.get(session);
    if (made === undefined) {
      made = this.#make(session);
      this.#made.set(session, made);
    }
    return made;
  }

  /** The session's value; undefined if it was never needed. */
  known(session: SessionScope): T | undefined {
    return this.#made.get(session);
  }
}
