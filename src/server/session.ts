/**
 * A session around its actor, as a host sees it: whether started by `listen`, invoked or spawned.
 */
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
import type { PreparationOutcome } from '../machines/session-context.ts';
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

/**
 * Options of a session, however it is started. What a listener throws is an uncaught exception; the
 * session continues.
 */
export interface SessionOptions extends ScopeOptions {
  /**
   * Called with every event that the session emits. A listener added by `on` may miss the first
   * ones.
   */
  readonly onEmitted?: (event: SessionEmitted) => void;
  /** Called on each roots update, with the report that handlers get from then on. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  /** Ends the session when it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * Watch the whole session, as the inspector's page does. Each is called once, before the start.
   */
  readonly watchers?: readonly Watcher[];
}

/**
 * Watches a session. If it throws, `listen` throws the error, or the invoked session fails with it.
 */
export type Watcher = (watched: WatchedSession) => void;

/** A session as a {@link Watcher} gets it. */
export interface WatchedSession extends Pick<McpSession, 'id' | 'actor' | 'closed' | 'dump'> {
  /** Tells it from a host's connection. */
  readonly side: 'server';
  /** The messages between the session and its client. */
  readonly traffic: Pick<Traffic, 'listen'>;
  /** The transitions of the session's machines. */
  readonly transitions: Pick<Transitions, 'listen'>;
  /** The machine of the tool with this name, if it is one. */
  readonly toolMachine: (name: string) => AnyStateMachine | undefined;
  /** Its bounds. */
  readonly limits: Limits;
  /** Its time. */
  readonly clock: Clock;
}

/** A session that is being served. */
export interface McpSession extends SessionHandle, SessionStreams, AsyncDisposable {
  /**
   * The session's actor: its snapshot, its emitted events, its children. A session over HTTP that
   * only asks has no actors until this, `state`, `dump()` or an observable is read.
   */
  readonly actor: SessionActorRef;
  /**
   * Resolves when the session has ended, with why. Never rejects.
   *
   * Reading it keeps the process alive until then, so that a script may await it. To be told
   * without that, listen to the actor's `session.closed` event.
   */
  readonly closed: Promise<CloseCause>;
  /**
   * Ends the session. Calls in flight get the drain time to finish. Repeating it changes nothing,
   * unless it gives a shorter time.
   *
   * @param drainTimeoutMs a shorter drain time than the limit, milliseconds
   * @throws {RangeError} `drainTimeoutMs` is negative or NaN; the session goes on
   */
  shutdown(reason: string, drainTimeoutMs?: number): void;
  /**
   * Tells what is pending and since when, the states of the actors, and how full the queues are.
   */
  dump(): SessionDump;
  /**
   * Asks the client whether it is there. Any answer counts, even an error.
   *
   * @param options `timeoutMs`: by default `keepaliveTimeoutMs`
   * @returns the time until the answer, milliseconds
   * @throws {RuntimeError} REQUEST_TIMEOUT, TRANSPORT_CLOSED, CANCELLED
   * @throws {RangeError} `timeoutMs` is not a positive number
   * @see MCP 2025-11-25, basic/utilities/ping
   */
  ping(options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<number>;
}

const sessions = new WeakMap<object, ServedSession>();

/** The session of an actor; undefined if the actor is not a session. */
export function sessionOfActor(actor: object): ServedSession | undefined {
  return sessions.get(actor);
}

/** A session and its actor. */
export class ServedSession extends SessionScope implements McpSession {
  readonly core: ServerCore;
  #actor: SessionActorRef | undefined = undefined;
  actorless: ActorlessSession | undefined = undefined;
  readonly #start: (session: ServedSession) => SessionActorRef;
  readonly #options: SessionOptions;
  /** Why it has ended, once it has. */
  #cause: CloseCause | undefined = undefined;
  /** While it closes, the server ends what it has opened for the session. */
  #closing: ClosingSnapshot = closingChart.begun;
  /** When the drain began, by the host's clock. */
  #drainingSince: number | undefined = undefined;
  #closed: Promise<CloseCause> | undefined = undefined;
  /** Lets go of the process, if it is kept alive. */
  #releaseProcess: (() => void) | undefined = undefined;
  #resolveClosed: ((cause: CloseCause) => void) | undefined = undefined;
  #streams: SessionStreams | undefined = undefined;
  /** Feeds the subscribers of `events$`. */
  #emitted$: Emissions | undefined = undefined;
  #preparing: Promise<PreparationOutcome> | undefined = undefined;
  /** What kept it from being connected. */
  #refusal: { readonly error: unknown } | undefined = undefined;

  /** @param start makes its actor and starts it */
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

  /** Makes the session one of the actor's, which may have no snapshot yet. */
  attach(actor: SessionActorRef): void {
    this.#actor = actor;
    sessions.set(actor, this);
    this.#listen(actor);
    if (this.observedTransitions) this.observeMachines(this.observedTransitions);
  }

  /** Does nothing before {@link attach}. */
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

  /** Begins the session: with its actors, if it cannot be served without them or anybody watches it. */
  open(isWatched: boolean): void {
    const { client: known } = this.actors;
    if (known) this.actorless = new ActorlessSession(this, known);
    if (isWatched || !known) this.#started();
    else this.core.sessions.add(this);
  }

  /** Somebody needs its actors. */
  #started(): SessionActorRef {
    // Read now: as soon as its actors have started, its transport leaves the rest to them.
    const begun = this.actorless?.begun;
    const actor = this.#start(this);
    this.actorless = undefined;
    if (begun) actor.send(begun);
    const cause = this.#cause;
    // It is asked for after the end: it ends, too.
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

  get isPrepared(): boolean {
    return this.core.upstreams !== undefined;
  }

  /** Once for a session: actors that are made meanwhile get what was begun without them. */
  prepare(received: InitializeReceived, signal?: AbortSignal): Promise<PreparationOutcome> {
    const { upstreams } = this.core;
    if (!upstreams) throw new TypeError('The server has the same for all clients');
    return (this.#preparing ??= upstreams.prepare(this, received, signal));
  }

  get describe() {
    return this.core.upstreams?.describe;
  }

  forwards({ method, params }: InboundNotification): boolean {
    return this.core.upstreams?.forwards(this, method, params) ?? false;
  }

  onBackpressure(isBlocked: boolean): void {
    for (const upstream of this.core.upstreams?.in(this) ?? []) upstream.pause(isBlocked);
  }

  get closed(): Promise<CloseCause> {
    if (this.#closing.value !== 'closed') this.#releaseProcess ??= keepAlive();
    return this.#ended;
  }

  /** {@link closed}, without keeping the process alive. */
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

  /** A session without actors has nothing to drain, if nothing is under way. */
  #shutdown(event: SessionShutdown): void {
    if (this.#cause) return;
    const { actorless } = this;
    if (!actorless?.isIdle) return this.actor.send(event);
    actorless.router.stop();
    const cause: CloseCause = { kind: 'shutdown', reason: event.reason };
    new SessionFacts(this.report).emitted({ type: 'session.closed', cause });
    const { drainTimeoutMs: most } = this.limits;
    this.#close(cause, Math.min(event.drainTimeoutMs ?? most, most));
    this.finish(cause);
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
      servers: (this.core.upstreams?.in(this) ?? []).flatMap(
        ({ upstream }) => upstream?.standings ?? [],
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
      throw new RuntimeError('TRANSPORT_CLOSED', 'The session has ended: nobody can be pinged');
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

  /** The actor has taken an event. */
  moved({ output, context }: SessionSnapshot): void {
    if (output) this.#close(output.cause);
    else if (context.cause) this.#drainingSince ??= this.hostClock.now();
  }

  /** Called instead of being connected: the session fails when it begins. */
  refuse(error: unknown): void {
    this.#refusal = { error };
  }

  /**
   * Called once, when the actor starts. From here on, the session holds what it releases at its
   * end.
   *
   * @throws what has kept it from being connected
   */
  begin(): void {
    if (this.#refusal) throw this.#refusal.error;
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
    // Always, because the last emitted event is known only if someone listens.
    actor.on('*', (event) => {
      this.lastEmitted = event;
      facts.emitted(event);
      this.#emitted$?.next(event);
      this.environment.listener(event.type, () => this.#tell(event));
    });
  }

  #tell(event: SessionEmitted): void {
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

  /** Only the first cause counts. */
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
        closeBy(() => onClose({ id: this.id, cause }), 'onClose', {
          ...{ timeoutMs, clock, report, session: this },
        }),
      // What it ends has a time of its own: a process, after its grace.
      upstreams &&
        closeBy(() => upstreams.close(this), 'upstream', {
          ...{ timeoutMs: this.limits.drainTimeoutMs, clock, report, session: this },
        }),
    ].filter((closing) => closing !== undefined);
    if (closings.length > 0) void Promise.all(closings).then(() => this.#settle(cause));
    else this.#settle(cause);
  }

  /** Nothing is left to be done: `closed` resolves. */
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

  /** The actor has ended. */
  finish(cause: CloseCause): void {
    this.#close(cause);
    this.core.sessions.delete(this);
    this.end();
    this.actors.onEnded?.();
  }
}

/** Tells a session of its actor. Each session has one, and no functions of its own for it. */
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
    if (this.#isTraced) this.#facts.moved(snapshot);
    this.#session.moved(snapshot);
  }

  error(error: unknown): void {
    this.#session.finish({ kind: 'failure', error });
  }

  complete(): void {
    this.#session.finish({ kind: 'shutdown', reason: 'The actor was stopped' });
  }
}

interface CloseOptions {
  /** How long it may take, milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly report: Report<FactName>;
  /** Its id is made when somebody asks for it. */
  readonly session: { readonly id: string };
}

/** Closes a part of a server. @returns what waits for the promise that it gives, if any; it never rejects */
function closeBy(
  close: () => unknown,
  part: 'onClose' | 'upstream',
  options: CloseOptions,
): Promise<void> | undefined {
  try {
    const closing = close();
    return isThenable(closing) ? untilClosed(closing, part, options) : undefined;
  } catch (error) {
    return reportFailure(error, part, options);
  }
}

async function untilClosed(
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
    const message = `The server's ${part} has not ended within ${timeoutMs} ms; the session ends without it`;
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
