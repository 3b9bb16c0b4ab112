/** Session API for hosts, whether the session was started by `listen`, invoked or spawned. */
import type { AnyActorRef, AnyStateMachine } from 'xstate';
import { pingPeer } from '../actors/probe.actor.ts';
import type { Traffic } from '../actors/traffic.ts';
import { isThenable } from '../actors/request-context.ts';
import { keepAlive, refTimer, assertDuration, assertWait } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import { closingChart } from './closing.machine.ts';
import type { ClosingSnapshot } from './closing.machine.ts';
import type { RootsReport } from '../protocol/roots.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import type { SessionActorRef, SessionSnapshot } from '../machines/session-state.ts';
import type { CloseCause, InitializeReceived, SessionShutdown } from '../machines/session-ports.ts';
import type { UpstreamOutcome } from '../machines/session-context.ts';
import type { InboundNotification } from '../protocol/frames.ts';
import { RuntimeError, textOfError } from '../protocol/errors.ts';
import type { Report } from '../actors/facts.ts';
import { machineOfTool } from './define/tool-machine.ts';
import { SessionFacts } from './facts.ts';
import type { FactName } from './facts.ts';
import type { SessionHandle } from './context/session-view.ts';
import type { Limits } from '../actors/limits.ts';
import type { ServerCore } from './server-core.ts';
import { dumpSession } from '../../packages/diagnostics/src/session-dump.ts';
import type { SessionDump } from '../../packages/diagnostics/src/session-dump.ts';
import { ActorlessSession } from './session/actorless-session.ts';
import { SessionScope } from './session/session-scope.ts';
import type { ScopeOptions, SessionHost } from './session/session-scope.ts';
import { emissions, sessionStreams } from './session/session-streams.observable.ts';
import type { Emissions, SessionStreams } from './session/session-streams.observable.ts';
import type { Transitions } from '../actors/transitions.ts';

/** Options of every session. An error thrown by a listener is an uncaught exception; the session continues. */
export interface SessionOptions extends ScopeOptions {
  /** Receives every emitted event, including early ones that a listener added with `on` could miss. */
  readonly onEmitted?: (event: SessionEmitted) => void;
  /** Receives each roots update, before handlers see it. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  /** Ends the session when aborted. */
  readonly signal?: AbortSignal;
  /** Observers of the whole session, such as the inspector. Each is called once, before the start. */
  readonly watchers?: readonly Watcher[];
}

/** Observer of a session. An error is thrown by `listen`, or fails an invoked session. */
export type Watcher = (watched: WatchedSession) => void;

/** Argument of a {@link Watcher}. */
export interface WatchedSession extends Pick<McpSession, 'id' | 'actor' | 'closed' | 'dump'> {
  /** Discriminator: `'server'` for a session, `'host'` for a connection. */
  readonly side: 'server';
  /** Messages between the session and its client. */
  readonly traffic: Pick<Traffic, 'listen'>;
  /** Transitions of the session's machines. */
  readonly transitions: Pick<Transitions, 'listen'>;
  /** Returns the machine of a tool; undefined for an ordinary tool. */
  readonly toolMachine: (name: string) => AnyStateMachine | undefined;
  /** Limits of the session. */
  readonly limits: Limits;
  /** Clock of the session. */
  readonly clock: Clock;
}

/** A running session. */
export interface McpSession extends SessionHandle, SessionStreams, AsyncDisposable {
  /**
   * Actor of the session: snapshot, emitted events, children. An HTTP session that only serves requests
   * has no actors until this, `state`, `dump()` or an observable is read.
   */
  readonly actor: SessionActorRef;
  /**
   * Resolves with the close cause when the session has ended. Never rejects.
   *
   * Reading it keeps the process alive, so that a script can await it. The actor's `session.closed`
   * event does not.
   */
  readonly closed: Promise<CloseCause>;
  /**
   * Ends the session. Running calls may finish within the drain time. Repeated calls only shorten it.
   *
   * @param drainTimeoutMs drain time, milliseconds. Default and maximum: the limit `drainTimeoutMs`
   * @throws {RangeError} if `drainTimeoutMs` is negative or NaN; the session continues
   */
  shutdown(reason: string, drainTimeoutMs?: number): void;
  /** Returns a diagnostic snapshot: pending requests and their ages, actor states, queue sizes. */
  dump(): SessionDump;
  /**
   * Pings the client. Any response counts, even an error.
   *
   * @param options `timeoutMs` (default: the limit `keepaliveTimeoutMs`) and `signal`
   * @returns round-trip time, milliseconds
   * @throws {RuntimeError} REQUEST_TIMEOUT, TRANSPORT_CLOSED, CANCELLED
   * @throws {RangeError} if `timeoutMs` is not a positive number
   * @see MCP 2025-11-25, basic/utilities/ping
   */
  ping(options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<number>;
}

const sessions = new WeakMap<object, ServedSession>();

/** Session of an actor; undefined for other actors. */
export function sessionOfActor(actor: object): ServedSession | undefined {
  return sessions.get(actor);
}

/** Session of a server, with its lazily started actor. */
export class ServedSession extends SessionScope implements McpSession {
  readonly core: ServerCore;
  #actor: SessionActorRef | undefined = undefined;
  actorless: ActorlessSession | undefined = undefined;
  readonly #start: (session: ServedSession) => SessionActorRef;
  readonly #options: SessionOptions;
  /** Close cause; undefined before the end. */
  #cause: CloseCause | undefined = undefined;
  /** Closing state: `onClose` and the upstreams run while closing. */
  #closing: ClosingSnapshot = closingChart.initial;
  /** Start of the drain, host clock ms. */
  #drainingSince: number | undefined = undefined;
  #closed: Promise<CloseCause> | undefined = undefined;
  /** Stops keeping the process alive; undefined if it is not. */
  #releaseProcess: (() => void) | undefined = undefined;
  #resolveClosed: ((cause: CloseCause) => void) | undefined = undefined;
  #streams: SessionStreams | undefined = undefined;
  /** Source of `events$`. */
  #emitted$: Emissions | undefined = undefined;
  #upstreamOutcome: Promise<UpstreamOutcome> | undefined = undefined;
  /** Error of the connection attempt, thrown at the start. */
  #startError: { readonly error: unknown } | undefined = undefined;

  /** @param start creates and starts the actor */
  constructor(
    core: ServerCore,
    options: SessionOptions,
    host: SessionHost,
    start: (session: ServedSession) => SessionActorRef,
  ) {
    super(options, host);
    this.core = core;
    this.server = core.server;
    if (this.switches) core.catalog.tools.visibility.isSwitched = true;
    this.#options = options;
    this.#start = start;
  }

  get actor(): SessionActorRef {
    return this.#actor ?? this.#started();
  }

  /** Associates the session with its actor, which may have no snapshot yet. */
  attach(actor: SessionActorRef): void {
    this.#actor = actor;
    sessions.set(actor, this);
    this.#listen(actor);
    if (this.observedTransitions) this.observeMachines(this.observedTransitions);
  }

  /** No-op before {@link attach}. */
  protected override observeMachines(transitions: Transitions): void {
    const actor = this.#actor;
    if (!actor) return;
    const nameOf = (inspected: AnyActorRef) => {
      if (inspected === actor) return 'session';
      const { children } = actor.getSnapshot();
      if (inspected === children['roots']) return 'roots';
      return inspected === children['keepalive'] ? 'keepalive' : undefined;
    };
    transitions.observe(actor, nameOf, (end) => this.atEnd(end));
  }

  /** Starts the session, without actors if possible. */
  open(isWatched: boolean): void {
    const { client: known } = this.actors;
    if (known) this.actorless = new ActorlessSession(this, known);
    if (isWatched || !known) this.#started();
    else this.core.sessions.add(this);
  }

  /** Starts the actors of a session that runs without them. */
  #started(): SessionActorRef {
    // Read first, because the started actors take over from the transport.
    const begun = this.actorless?.initialEvent;
    const actor = this.#start(this);
    this.actorless = undefined;
    if (begun) actor.send(begun);
    const cause = this.#cause;
    // The session has already ended, so the actor must end, too.
    if (cause?.kind === 'shutdown') {
      actor.send({ type: 'session.shutdown', reason: cause.reason, drainTimeoutMs: 0 });
    }
    return actor;
  }

  get sealer() {
    return this.core.sealer;
  }

  get discovery() {
    return this.core.caching.discovery;
  }

  get logging() {
    return this.core.definition.logging;
  }

  get resolveRoots() {
    return this.core.definition.resolveRoots;
  }

  get hasUpstream(): boolean {
    return this.core.upstreams !== undefined;
  }

  /** Idempotent: actors that start meanwhile reuse the upstream. */
  resolveUpstream(received: InitializeReceived, signal?: AbortSignal): Promise<UpstreamOutcome> {
    const { upstreams } = this.core;
    if (!upstreams) throw new TypeError('The server has no upstream');
    return (this.#upstreamOutcome ??= upstreams.resolve(this, received, signal));
  }

  get describe() {
    return this.core.upstreams?.describe;
  }

  forward({ method, params }: InboundNotification): boolean {
    return this.core.upstreams?.forward(this, method, params) ?? false;
  }

  onBackpressure(isBlocked: boolean): void {
    for (const upstream of this.core.upstreams?.openIn(this) ?? []) upstream.pause(isBlocked);
  }

  get closed(): Promise<CloseCause> {
    if (this.#closing.value !== 'closed') this.#releaseProcess ??= keepAlive();
    return this.#ended;
  }

  /** Like {@link closed}, without keeping the process alive. */
  get #ended(): Promise<CloseCause> {
    return (this.#closed ??= new Promise((resolve) => {
      if (this.#cause && this.#closing.value === 'closed') resolve(this.#cause);
      else this.#resolveClosed = resolve;
    }));
  }

  get state$() {
    return this.#observables.state$;
  }

  get roots$() {
    return this.#observables.roots$;
  }

  get events$() {
    return this.#observables.events$;
  }

  get traffic$() {
    return this.#observables.traffic$;
  }

  shutdown(reason: string, drainTimeoutMs?: number): void {
    if (drainTimeoutMs !== undefined) assertWait('drainTimeoutMs', drainTimeoutMs);
    const event = { type: 'session.shutdown', reason, drainTimeoutMs } as const;
    this.environment.shutdown(event, () => this.#shutdown(event));
  }

  /** An idle session without actors ends immediately, without a drain. */
  #shutdown(event: SessionShutdown): void {
    if (this.#cause) return;
    const { actorless } = this;
    if (!actorless?.isIdle) return this.actor.send(event);
    actorless.router.stop();
    const cause: CloseCause = { kind: 'shutdown', reason: event.reason };
    new SessionFacts(this.report).emitted({ type: 'session.closed', cause });
    const { drainTimeoutMs: most } = this.limits;
    this.#close(cause, Math.min(event.drainTimeoutMs ?? most, most));
    this.onActorEnded(cause);
  }

  resourceUpdated(uri: string): void {
    this.core.resourceUpdated(this, uri);
  }

  enable(name: string): void {
    this.core.switch(this, name, true);
  }

  disable(name: string): void {
    this.core.switch(this, name, false);
  }

  dump(): SessionDump {
    const { id, limits, quotas, startedAt, hostClock, lastHeardAt } = this;
    return dumpSession({
      id,
      held: quotas.used,
      snapshot: this.actor.getSnapshot(),
      tasks: this.core.tasksOf(this),
      lease: this.durable?.owner,
      timeOfDay: this.timeOfDay(),
      servers: (this.core.upstreams?.openIn(this) ?? []).flatMap(
        ({ upstream }) => upstream?.serverStates ?? [],
      ),
      limits,
      now: hostClock.now(),
      startedAt,
      lastHeardAt,
    });
  }

  async ping({
    timeoutMs = this.limits.keepaliveTimeoutMs,
    signal,
  }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}): Promise<number> {
    assertDuration('timeoutMs', timeoutMs);
    if (this.state === 'closed') {
      throw new RuntimeError(
        'TRANSPORT_CLOSED',
        'The session has ended: the client cannot be pinged',
      );
    }
    const askedAt = this.hostClock.now();
    const { correlation } = this.actor.getSnapshot().context;
    await this.environment.ping(timeoutMs, signal, (until) =>
      pingPeer(correlation, { timeoutMs, signal: until }),
    );
    return this.hostClock.now() - askedAt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shutdown('disposed');
    await this.closed;
  }

  /** Called after each transition of the actor. */
  onTransition({ output, context }: SessionSnapshot): void {
    if (output) this.#close(output.cause);
    else if (context.cause) this.#drainingSince ??= this.hostClock.now();
  }

  /** Makes the session fail when it starts. */
  failOnStart(error: unknown): void {
    this.#startError = { error };
  }

  /**
   * Called once when the actor starts. Acquires the resources that are released at the end.
   *
   * @throws the error passed to {@link failOnStart}
   */
  begin(): void {
    if (this.#startError) throw this.#startError.error;
    this.#watch();
    this.core.sessions.add(this);
    const { signal } = this.#options;
    if (!signal) return;
    const abort = () => this.shutdown(textOfError(signal.reason));
    signal.addEventListener('abort', abort);
    this.atEnd(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  }

  /** Created when first read. */
  get #observables(): SessionStreams {
    const { actor, traffic, hostClock: clock } = this;
    return (this.#streams ??= sessionStreams({
      actor,
      traffic,
      clock,
      emitted: () => this.lastEmitted,
      emitted$: (this.#emitted$ ??= emissions()),
    }));
  }

  #listen(actor: SessionActorRef): void {
    const facts = new SessionFacts(this.report);
    actor.subscribe(new SessionObserver(this, facts));
    // Always subscribed, to remember the last emitted event.
    actor.on('*', (event) => {
      this.lastEmitted = event;
      facts.emitted(event);
      this.#emitted$?.next(event);
      this.environment.listener(event.type, () => this.#notifyListeners(event));
    });
  }

  #notifyListeners(event: SessionEmitted): void {
    const { onEmitted, onRootsUpdated } = this.#options;
    if (onRootsUpdated && event.type === 'roots.updated') onRootsUpdated(event.report);
    onEmitted?.(event);
  }

  #watch(): void {
    for (const watch of this.#options.watchers ?? []) {
      const { actor, traffic, transitions, limits, hostClock: clock } = this;
      const closed = this.#ended;
      const dump = () => this.dump();
      const toolMachine = (name: string) => {
        const tool = this.core.catalog.tools.get(name);
        return tool && machineOfTool(tool);
      };
      const watched = { actor, closed, dump, traffic, transitions, toolMachine, limits, clock };
      watch({ side: 'server', id: this.id, ...watched });
    }
  }

  /** Starts closing. Only the first cause counts. */
  #close(cause: CloseCause, drainTimeoutMs?: number): void {
    if (this.#closing.value !== 'open') return;
    this.#closing = closingChart.next(this.#closing, { type: 'close.begin' });
    this.#cause = cause;
    this.environment.closed(cause);
    const { onClose } = this.core.definition;
    const { hostClock: clock, report } = this;
    const { upstreams } = this.core;
    const timeoutMs = drainTimeoutMs ?? this.#leftOfDrainMs();
    const closings = [
      onClose &&
        closePart(() => onClose({ id: this.id, cause }), 'onClose', {
          ...{ timeoutMs, clock, report, session: this },
        }),
      // The upstream gets the full drain time: ending a process includes its grace period.
      upstreams &&
        closePart(() => upstreams.close(this), 'upstream', {
          ...{ timeoutMs: this.limits.drainTimeoutMs, clock, report, session: this },
        }),
    ].filter((closing) => closing !== undefined);
    if (closings.length > 0) void Promise.all(closings).then(() => this.#settle(cause));
    else this.#settle(cause);
  }

  /** Resolves `closed`. */
  #settle(cause: CloseCause): void {
    this.#closing = closingChart.next(this.#closing, { type: 'close.done' });
    this.#resolveClosed?.(cause);
    this.#releaseProcess?.();
  }

  #leftOfDrainMs(): number {
    const { drainTimeoutMs } = this.actor.getSnapshot().context;
    const now = this.hostClock.now();
    return Math.max(0, drainTimeoutMs - (now - (this.#drainingSince ?? now)));
  }

  /** Called when the actor has ended. */
  onActorEnded(cause: CloseCause): void {
    this.#close(cause);
    this.core.sessions.delete(this);
    this.end();
    this.actors.onEnded?.();
  }
}

/** Observer of a session's actor. A class, to avoid closures per session. */
class SessionObserver {
  readonly #session: ServedSession;
  readonly #facts: SessionFacts;
  readonly #isTraced: boolean;

  constructor(session: ServedSession, facts: SessionFacts) {
    this.#session = session;
    this.#facts = facts;
    this.#isTraced = session.report.threshold === 'debug';
  }

  next(snapshot: SessionSnapshot): void {
    if (this.#isTraced) this.#facts.stateChanged(snapshot);
    this.#session.onTransition(snapshot);
  }

  error(error: unknown): void {
    this.#session.onActorEnded({ kind: 'failure', error });
  }

  complete(): void {
    this.#session.onActorEnded({ kind: 'shutdown', reason: 'The actor was stopped' });
  }
}

interface CloseOptions {
  /** Maximum duration, milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly report: Report<FactName>;
  /** Session, whose id is created lazily. */
  readonly session: { readonly id: string };
}

/** Closes a part of a session. @returns a promise that never rejects, if closing is asynchronous */
function closePart(
  close: () => unknown,
  part: 'onClose' | 'upstream',
  options: CloseOptions,
): Promise<void> | undefined {
  try {
    const closing = close();
    return isThenable(closing) ? awaitClose(closing, part, options) : undefined;
  } catch (error) {
    return reportFailure(error, part, options);
  }
}

async function awaitClose(
  closing: PromiseLike<unknown>,
  part: 'onClose' | 'upstream',
  options: CloseOptions,
): Promise<void> {
  const { timeoutMs, clock, report, session } = options;
  let timer: unknown;
  const tooLate = new Promise<'too late'>((resolve) => {
    timer = clock.setTimeout(() => resolve('too late'), timeoutMs);
    refTimer(timer);
  });
  try {
    const closed = Promise.resolve(closing).then(() => 'closed' as const);
    if ((await Promise.race([closed, tooLate])) === 'closed') return;
    const message = `The server's ${part} did not finish within ${timeoutMs} ms; the session ended without it`;
    report({ level: 'warning', name: 'close.abandoned', message, details: { id: session.id } });
  } catch (error) {
    reportFailure(error, part, options);
  } finally {
    clock.clearTimeout(timer);
  }
}

function reportFailure(error: unknown, part: string, { report }: CloseOptions): undefined {
  const message = `The server's ${part} failed: ${textOfError(error)}`;
  report({ level: 'error', name: 'close.failed', message, details: { error } });
}
