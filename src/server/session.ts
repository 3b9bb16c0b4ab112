/** One session, put together around its actor: what a host sees of it, whether it listens, invokes or spawns. */
import { pingClient } from '../actors/probe.actor.ts';
import type { Traffic } from '../actors/traffic.ts';
import { heldProcess } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import type { RootsReport } from '../machines/roots-report.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import type { CloseCause } from '../machines/session-ports.ts';
import { textOfError } from '../protocol/errors.ts';
import { factsOf } from './facts.ts';
import type { SessionHandle } from '../context/session-view.ts';
import { guardListeners, guardOf } from '../session/guarded-listeners.ts';
import type { Limits } from '../actors/limits.ts';
import type { ServerCore } from './server-core.ts';
import { dumpSession } from '../diagnosis/session-dump.ts';
import type { SessionDump } from '../diagnosis/session-dump.ts';
import { SessionScope } from '../session/session-scope.ts';
import type { ScopeOptions, SessionSurroundings } from '../session/session-scope.ts';
import type { SessionActorRef } from '../machines/session-state.ts';
import { sessionStreams } from '../session/session-streams.observable.ts';
import type { SessionStreams } from '../session/session-streams.observable.ts';
import type { Transitions } from '../session/transitions.ts';

/** What may be chosen for a session, however it is started. A listener that throws is reported, and ends nothing. */
export interface SessionOptions extends ScopeOptions {
  /** Called with each event that the session emits. It is there before the first, which a listener by `on` may be too late for. */
  readonly onEmitted?: (event: SessionEmitted) => void;
  /** Called on each roots update, with the report that handlers see from then on. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  /** Ends the session. */
  readonly signal?: AbortSignal;
  /** Those who look at all of it, a page or a recorder: each is called once, before the session starts. */
  readonly watchers?: readonly Watcher[];
}

/** Looks at a session. What it throws is thrown by `listen`; an invoked session fails with it. */
export type Watcher = (watched: WatchedSession) => void;

/** A session as a {@link Watcher} gets it. */
export interface WatchedSession extends Pick<McpSession, 'id' | 'actor' | 'closed' | 'dump'> {
  /** What passes between session and client. */
  readonly traffic: Pick<Traffic, 'listen'>;
  /** What its machines do. */
  readonly transitions: Pick<Transitions, 'listen'>;
  readonly limits: Limits;
  readonly clock: Clock;
}

/** A session that is being served. */
export interface McpSession extends SessionHandle, SessionStreams, AsyncDisposable {
  /** The session's actor: its snapshot, its emitted events, its children. A listener that throws is reported, and ends nothing. */
  readonly actor: SessionActorRef;
  /**
   * Resolves when the session has ended, with why. Never rejects.
   *
   * Whoever reads it keeps the process alive until then, so that a script may await it. To be told without that, listen to the actor's
   * `session.closed` event.
   */
  readonly closed: Promise<CloseCause>;
  /**
   * Ends the session: what is in flight gets the drain time. Repeating it changes nothing, unless it asks for a shorter time.
   *
   * @param drainTimeoutMs a shorter drain time than the session's own, milliseconds
   */
  shutdown(reason: string, drainTimeoutMs?: number): void;
  /** What is pending, since when, which state, how full the queues are. */
  dump(): SessionDump;
  /**
   * Asks the client whether it is there. Any answer will do.
   *
   * @param options `timeoutMs`: by default the keepalive's
   * @returns how long the answer took, milliseconds
   * @throws {RuntimeError} REQUEST_TIMEOUT, TRANSPORT_CLOSED, CANCELLED
   * @see MCP 2025-11-25, basic/utilities/ping
   */
  ping(options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<number>;
}

/** A session over an actor. */
export class ServedSession extends SessionScope implements McpSession {
  readonly #core: ServerCore;
  readonly #options: SessionOptions;
  /** Why it has ended. */
  #cause: CloseCause | undefined = undefined;
  #closed: Promise<CloseCause> | undefined = undefined;
  /** Lets go of the process, if it is kept alive. */
  #releaseProcess: (() => void) | undefined = undefined;
  #resolveClosed: ((cause: CloseCause) => void) | undefined = undefined;
  #streams: SessionStreams | undefined = undefined;

  /** @param actor need not have a snapshot yet */
  constructor(
    core: ServerCore,
    actor: SessionActorRef,
    options: SessionOptions,
    surroundings: SessionSurroundings,
  ) {
    super(actor, options, surroundings);
    this.#core = core;
    this.#options = options;
    // Its own listeners come first, and need no guard.
    this.#listen();
    guardListeners(actor, this);
  }

  get resolveRoots() {
    return this.#core.definition.resolveRoots;
  }

  get closed(): Promise<CloseCause> {
    if (!this.#cause) this.#releaseProcess ??= heldProcess();
    return this.#ended;
  }

  /** {@link closed}, without keeping the process alive. */
  get #ended(): Promise<CloseCause> {
    return (this.#closed ??= new Promise((resolve) => {
      if (this.#cause) resolve(this.#cause);
      else this.#resolveClosed = resolve;
    }));
  }

  get state$() {
    return this.#told.state$;
  }

  get roots$() {
    return this.#told.roots$;
  }

  get events$() {
    return this.#told.events$;
  }

  get traffic$() {
    return this.#told.traffic$;
  }

  shutdown(reason: string, drainTimeoutMs?: number): void {
    const event = { type: 'session.shutdown', reason, drainTimeoutMs } as const;
    this.edge.shutdown(event, () => this.actor.send(event));
  }

  resourceUpdated(uri: string): void {
    this.#core.resourceUpdated(this, uri);
  }

  elicitationCompleted(elicitationId: string): boolean {
    return this.#core.elicitationCompleted(this, elicitationId);
  }

  dump(): SessionDump {
    const { id, limits, startedAt, hostClock, lastHeardAt } = this;
    return dumpSession({
      id,
      snapshot: this.actor.getSnapshot(),
      tasks: this.#core.tasksOf(this),
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
    const askedAt = this.hostClock.now();
    const { correlation } = this.actor.getSnapshot().context;
    await this.edge.ping(timeoutMs, signal, (until) =>
      pingClient(correlation, { timeoutMs, signal: until }),
    );
    return this.hostClock.now() - askedAt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shutdown('disposed');
    await this.closed;
  }

  emitting(event: SessionEmitted): void {
    this.lastEmitted = event;
  }

  /** Called once, when the actor starts: from here on the session holds what it releases at its end. */
  begin(): void {
    this.#watch();
    this.#core.sessions.add(this);
    const { signal } = this.#options;
    if (!signal) return;
    const abort = () => this.shutdown(textOfError(signal.reason));
    signal.addEventListener('abort', abort);
    this.atEnd(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  }

  /** Made when first read. */
  get #told(): SessionStreams {
    const { actor, traffic, hostClock: clock, report } = this;
    return (this.#streams ??= sessionStreams({
      actor,
      traffic,
      clock,
      guard: guardOf(report),
      emitted: () => this.lastEmitted,
    }));
  }

  #listen(): void {
    const { actor } = this;
    const facts = this.#options.report ? factsOf(this.report) : undefined;
    actor.subscribe({
      next: (snapshot) => {
        facts?.moved(snapshot);
        if (snapshot.output) this.#close(snapshot.output.cause);
      },
      error: (error) => this.#finish({ kind: 'failure', error }),
      complete: () => this.#finish({ kind: 'shutdown', reason: 'The actor was stopped' }),
    });
    // In any case: what is emitted last is known only if somebody listens.
    actor.on('*', (event) => {
      this.emitting(event);
      facts?.emitted(event);
      this.edge.listener(event.type, () => guardOf(this.report)(() => this.#tell(event)));
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
      watch({ id: this.id, actor, closed, dump, traffic, transitions, limits, clock });
    }
  }

  /** The first cause alone. */
  #close(cause: CloseCause): void {
    if (this.#cause) return;
    this.#cause = cause;
    this.edge.closed(cause);
    this.#resolveClosed?.(cause);
    this.#releaseProcess?.();
  }

  #finish(cause: CloseCause): void {
    this.#close(cause);
    this.#core.sessions.delete(this);
    this.end();
  }
}
