/**
 * Per-session state. Machines, actors and features are shared by all sessions and receive the scope
 * through their inputs. Rarely needed parts are created lazily.
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
import type { UpstreamOutcome, RootsRef } from '../../machines/session-context.ts';
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
import { SessionLog, unavailableLog } from '../context/session-log.ts';
import type { LoggingOptions } from '../context/session-log.ts';
import { sendCustomNotification } from '../context/session-view.ts';
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

/** Options of a session's scope. */
export interface ScopeOptions {
  /** Overrides of {@link defaultLimits}. */
  readonly limits?: Partial<Limits>;
  /**
   * Resumption of calls that needed input (since 2026-07-28). `keep` (default): the suspended handler
   * continues. `replay`: the handler always runs again, as in another process; for tests.
   */
  readonly resume?: 'keep' | 'replay';
  /** Receives facts. By default warnings and errors are written to stderr. */
  readonly report?: Report;
  /** Wall clock for timestamps sent to clients, such as a task's. */
  readonly wallClock?: () => Date;
  /**
   * Generates ids for tasks and for requests to the client. They must be unguessable, except in tests.
   * Default: random UUIDs.
   */
  readonly randomId?: () => string;
  /**
   * Receives XState inspection events, which makes every event more expensive. For sessions in a host's
   * actor system it receives only task actors, which are separate systems; inspect the host's system
   * for the rest.
   */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
  /** Persists tasks across processes. `serve` creates it from its option `durable`. */
  readonly durable?: TaskWorker;
  /** True if a supervisor owns the host's pipe and resends unanswered calls to the next process. */
  readonly supervised?: boolean;
  /** Persists `enable` and `disable` calls of a session that can move to another process. */
  readonly switches?: SwitchStore;
}

/** Persistent `enable` and `disable` overrides of a session. */
export interface SwitchStore {
  /** Initial overrides: true if the item is enabled, false if disabled. */
  readonly initial: ReadonlyMap<string, boolean>;
  /** Saves an override. Later responses of the session wait for it. */
  save(name: string, isEnabled: boolean): void;
}

/** Environment of a session and its two clocks. */
export interface SessionHost {
  readonly environment: SessionEnvironment;
  /** Clock of the session's actors, from the environment. */
  readonly clock: Clock;
  /** Clock of the author's code and of observers. */
  readonly hostClock: Clock;
}

/** Actors of a session's transport and optional extras; see `SharingActors`. */
export type SessionTransport = TransportActors &
  Partial<Omit<SharedTransportActors, keyof TransportActors>>;

const noServer: ServerDescription = { serverInfo: { name: '', version: '' }, capabilities: {} };
const noHandlers: ReadonlyMap<string, RequestHandler> = new Map();
const noActors: SessionTransport = {
  reader: unprovided('reader'),
  writer: unprovided('writer'),
};

export abstract class SessionScope implements SessionHandle {
  /** Session actor. Reading it starts the actor if the session runs without one. */
  abstract readonly actor: SessionActorRef;
  readonly environment: SessionEnvironment;
  readonly clock: Clock;
  readonly hostClock: Clock;
  readonly limits: Limits;
  /** Reports a fact. Never throws. */
  readonly report: Report;
  /** Ids of requests to the client. */
  readonly requestIds = new RequestIds(() => this.randomId('request'));
  readonly traffic: Traffic;
  /** Start time, host clock ms. */
  readonly startedAt: number;
  /** Server description for this session. Set before the session starts. */
  server = noServer;
  /** Handlers by method. Set before the session starts. */
  handlers = noHandlers;
  /** Actors of the transport. Set before the session starts. */
  actors = noActors;
  /** Overrides by item name: true if enabled, false if disabled. Undefined before the first. */
  switches: Map<string, boolean> | undefined;
  /** Last emitted event. */
  lastEmitted: SessionEmitted | undefined = undefined;
  /** See `ServerDefinition.caching`. */
  abstract readonly discovery: CacheHints;
  /** Logging options; undefined if the server does not declare logging. */
  abstract readonly logging: LoggingOptions | undefined;
  /** Encrypts request states that travel through clients. */
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
    this.switches = options.switches?.initial.size ? new Map(options.switches.initial) : undefined;
    this.traffic = new Traffic(this);
  }

  /** Serves the session while it has no actors; undefined afterwards. */
  abstract readonly actorless: ActorlessSession | undefined;

  abstract resourceUpdated(uri: string): void;

  abstract enable(name: string): void;

  abstract disable(name: string): void;

  /** Shows or hides an item in this session. @returns false if nothing changes */
  switch(name: string, isEnabled: boolean): boolean {
    const { switches } = this.#options;
    this.switches ??= new Map(switches?.initial);
    if (this.switches.get(name) === isEnabled) return false;
    this.switches.set(name, isEnabled);
    switches?.save(name, isEnabled);
    return true;
  }

  /** Opens the upstream of the client; see `ServerDefinition.upstream`. */
  abstract resolveUpstream(
    received: InitializeReceived,
    signal?: AbortSignal,
  ): Promise<UpstreamOutcome>;

  /** True if the server has an upstream. */
  abstract readonly hasUpstream: boolean;

  /** Describes the server to the client of a call; undefined without an upstream. */
  abstract readonly describe: ((call: RequestContext) => Promise<ServerDescription>) | undefined;

  /** Forwards a notification to the upstream. @returns false if no upstream accepts it */
  abstract forward(notification: InboundNotification): boolean;

  /** Pauses or resumes the upstreams when the client stops or resumes reading. */
  abstract onBackpressure(isBlocked: boolean): void;

  elicitationCompleted(elicitationId: string): boolean {
    if (!this.isOperating || !this.#contexts?.elicitations.close(elicitationId)) return false;
    this.notify(Method.elicitationComplete, { elicitationId });
    return true;
  }

  // Lazy, because loading crypto would delay the first response.
  get id(): string {
    return (this.#id ??= crypto.randomUUID());
  }

  get state(): SessionState {
    return stateOf(this.actor.getSnapshot());
  }

  /** Role of the peer, for messages. */
  get peer(): 'client' {
    return 'client';
  }

  /** Last activity of the client, session clock ms; -Infinity if none. */
  get lastHeardAt(): number {
    const { router } = this.actor.getSnapshot().context;
    return viewOf<RouterView>(router)?.lastHeardAt ?? -Infinity;
  }

  /** Server description that was sent to the client. */
  get declared(): ServerDescription {
    return (this.actorless ?? this.actor.getSnapshot().context).server;
  }

  get isOperating(): boolean {
    const { actorless } = this;
    if (actorless) return actorless.isOperating;
    return this.actor.getSnapshot().hasTag('operating');
  }

  /** Memory quotas of the clients. */
  get quotas(): Quotas {
    return (this.#quotas ??= this.actors.quotas ?? new Quotas());
  }

  /** Reserves memory for the client's roots. @returns false if the quota is exceeded */
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

  /** Transitions of the session's machines. */
  get transitions(): Transitions {
    if (!this.#transitions) {
      this.#transitions = new Transitions(this.report);
      this.observeMachines(this.#transitions);
    }
    return this.#transitions;
  }

  /** Called when the first observer is attached. */
  protected observeMachines(_: Transitions): void {}

  /** {@link transitions} if they have ever been read. */
  get observedTransitions(): Transitions | undefined {
    return this.#transitions;
  }

  /** Roots machine of a client that declares roots; started on first use. */
  roots(): RootsRef | undefined {
    if (this.actorless && !declaresRoots(this.actorless.client.capabilities)) return undefined;
    const { status, context } = this.actor.getSnapshot();
    const { roots, client } = context;
    if (roots || status !== 'active' || !declaresRoots(client?.capabilities)) return roots;
    this.actor.send({ type: 'roots.needed' });
    return this.actor.getSnapshot().context.roots;
  }

  /** Handler context of a call, shared by middleware and handler. */
  contextOf(call: RequestContext): HandlerContext {
    const known = call.context as HandlerContext | undefined;
    if (known) return known;
    this.#contexts ??= {
      limits: this.limits,
      clock: this.hostClock,
      log: this.logging ? this.log : unavailableLog(this.report),
      session: this,
      elicitations: new OpenElicitations(),
    };
    const made = new CallContext(call, this.#contexts);
    call.context = made;
    return made;
  }

  /** Log from handlers to the client. */
  get log(): SessionLog {
    if (this.#log) return this.#log;
    const { limits, hostClock: clock, report } = this;
    const { maxLogsPerSecond } = limits;
    const log = new SessionLog({ level: 'info', ...this.logging, maxLogsPerSecond, clock, report });
    this.atEnd(() => log.stop());
    this.#log = log;
    return log;
  }

  /** Creates the manager of the session's suspendable calls. */
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
   * Sends a notification to the client if the session is in operation.
   *
   * @param reportTo receives `frame.rejected` if the notification cannot be sent
   * @returns true if the session is in operation
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

  /** Sends a notification of the author's code or the host. */
  notify(method: string, params?: JsonObject): boolean {
    return sendCustomNotification(method, (reportTo) => {
      let isSent = false;
      const send = (name: string, body?: JsonObject) => {
        isSent = this.send(name, body, reportTo);
      };
      this.environment.notify(send, method, params);
      return isSent;
    });
  }

  /**
   * Calls back when the session is in operation, synchronously if it already is.
   *
   * @returns a function that unsubscribes
   */
  whenOperating(listener: () => void): () => void {
    if (this.isOperating) {
      listener();
      return () => {};
    }
    const subscription = this.actor.on('session.initialized', listener);
    return () => subscription.unsubscribe();
  }

  /** Current wall-clock time, ISO 8601. */
  wallTime(): string {
    const { wallClock } = this.#options;
    return (wallClock ? wallClock() : new Date()).toISOString();
  }

  /** Current time for tasks, ISO 8601. */
  timeOfDay(): string {
    return this.environment.timeOfDay?.() ?? this.wallTime();
  }

  /** Generates an unguessable id. */
  randomId(of: RandomIdUse): string {
    const { randomId = of === 'task' ? newTaskId : () => crypto.randomUUID() } = this.#options;
    const make = () => randomId();
    return this.environment.randomId?.(of, make) ?? make();
  }

  /** Registers a cleanup function for the end of the session. */
  atEnd(release: () => void): void {
    // Push on an empty array would allocate 17 slots, and most sessions have one function.
    if (this.#releases) this.#releases.push(release);
    else this.#releases = [release];
  }

  /** Runs the cleanup functions. Idempotent. */
  end(): void {
    const releases = this.#releases;
    this.#releases = undefined;
    for (const release of releases ?? []) release();
  }

  /** Omits the scope when an inspector serializes a machine's context. */
  toJSON(): undefined {
    return undefined;
  }
}

/** Session in the input of an actor. @throws {TypeError} if there is none */
export function sessionIn({ scope }: { readonly scope?: object | undefined }): SessionScope {
  if (scope instanceof SessionScope) return scope;
  throw new TypeError(
    '"scope" of an actor\'s input must be a session: pass on the input of the parent actor',
  );
}

/** Session of a call. */
export function scopeOfCall({ request: { session } }: RequestContext): SessionScope {
  return sessionIn({ scope: session });
}

/** Handler context of a call; see {@link SessionScope.contextOf}. */
export function contextOf(call: RequestContext): HandlerContext {
  return scopeOfCall(call).contextOf(call);
}

/** Lazily created value per session, for code that serves all sessions. */
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

  /** Value of a session; undefined if not created yet. */
  peek(session: SessionScope): T | undefined {
    return this.#made.get(session);
  }
}
