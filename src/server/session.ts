/** One session, put together around its actor: what a host sees of it, whether it listens, invokes or spawns. */
import type { InspectionEvent, Observer } from 'xstate';
import { systemClock } from '../actors/clock.ts';
import { pingClient } from '../actors/ping.actor.ts';
import type { Traffic } from '../actors/traffic.ts';
import type { Clock } from '../actors/clock.ts';
import type { RootsReport } from '../machines/roots.machine.ts';
import type { SessionEmitted } from '../machines/session.machine.ts';
import type { CloseCause } from '../machines/session-ports.ts';
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../protocol/facts.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { SessionHandle } from './context/session-view.ts';
import type { ServerDefinition } from './definition.ts';
import { guardListeners, guardOf, safeReport } from './guarded-listeners.ts';
import { defaultLimits } from './limits.ts';
import type { Limits } from './limits.ts';
import type { Offer } from './offer.ts';
import { dumpSession } from './session-dump.ts';
import type { SessionDump } from './session-dump.ts';
import type { SessionEdge } from './session-edge.ts';
import { createSessionLogic } from './session-logic.ts';
import { stateOf } from './session-state.ts';
import type { SessionActorRef } from './session-state.ts';
import { sessionStreams } from './session-streams.observable.ts';
import type { SessionStreams } from './session-streams.observable.ts';
import type { Transitions } from './transitions.ts';
import type { Transport } from './transport.ts';

/** What may be chosen for a session, however it is started. A listener that throws is reported, and ends nothing. */
export interface SessionOptions {
  /** Overrides of {@link defaultLimits}. */
  readonly limits?: Partial<Limits>;
  /** Hears what happens; by default nobody does. */
  readonly report?: Report;
  /** Called with each event that the session emits. It is there before the first, which a listener by `on` may be too late for. */
  readonly onEmitted?: (event: SessionEmitted) => void;
  /** Called on each roots update, with the report that handlers see from then on. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  /** Ends the session. */
  readonly signal?: AbortSignal;
  /** The time of day, for what clients are told of when: a task's timestamps. */
  readonly wallClock?: () => Date;
  /** Makes ids that nobody can guess, of requests to the client and of tasks; by default the platform's random UUIDs. Tests make them known. */
  readonly randomId?: () => string;
  /**
   * XState's inspection events. Every event costs more while somebody inspects. In a host's system it hears the actors of tasks alone, which
   * are systems of their own; the rest the host hears as the one who inspects its own system.
   */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
  /** Those who look at all of it, a page or a recorder: each is called once, before the session starts. */
  readonly watchers?: readonly Watcher[];
}

/** The outside of a session that has an edge: the session's own time is the edge's. */
export interface Outside {
  readonly edge: SessionEdge;
  readonly clock: Clock;
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
  /** Resolves when the session has ended, with why. Never rejects. */
  readonly closed: Promise<CloseCause>;
  /** Ends the session: what is in flight gets the drain time. Repeating it changes nothing. */
  shutdown(reason: string): void;
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

/** A session that its actor's logic has made. */
export interface MadeSession extends Pick<
  ReturnType<typeof createSessionLogic>,
  'logic' | 'input' | 'transitions'
> {
  readonly session: McpSession;
  /** Called once, when the actor starts: from here on the session holds what it releases at its end. */
  begin(): void;
}

/**
 * Makes a session around its actor, which need not have a snapshot yet.
 * @param opened called when the session begins; gives what is called when it has ended
 */
export function makeSession(
  definition: ServerDefinition,
  offer: Offer,
  transport: Transport,
  options: SessionOptions & { readonly outside?: Outside },
  actor: SessionActorRef,
  opened: (session: McpSession) => () => void,
): MadeSession {
  const { wallClock = () => new Date(), randomId = () => crypto.randomUUID() } = options;
  const { inspect, signal, outside } = options;
  const edge = outside?.edge;
  const report = safeReport(options.report ?? (() => {}));
  const guard = guardOf(report);
  const ownClock = clockOf(actor);
  const clock = outside?.clock ?? ownClock;
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const startedAt = clock.now();
  const isOperating = () => {
    const state = stateOf(actor.getSnapshot());
    return state === 'initialized' || state === 'rootsKnown';
  };
  const { logic, input, session, traffic, transitions, hearing, tasks, start } = createSessionLogic(
    definition,
    offer,
    transport,
    {
      state: () => stateOf(actor.getSnapshot()),
      limits,
      report,
      clock,
      ownClock,
      notify: (method: string, params?: JsonObject) => {
        if (!isOperating()) return;
        const frame = { jsonrpc: '2.0', method, ...(params ? { params } : {}) } as const;
        actor.getSnapshot().context.writer.send({ type: 'frames.send', frames: [frame] });
      },
      whenOperating: (listener) => {
        if (isOperating()) {
          listener();
          return () => {};
        }
        const subscription = actor.on('session.initialized', listener);
        return () => subscription.unsubscribe();
      },
      timeOfDay: () => wallClock().toISOString(),
      inspect,
      randomId,
      edge,
    },
  );
  let lastEmitted: SessionEmitted | undefined;
  // Before any listener is told: XState tells those of one type before those of all.
  guardListeners(actor, guard, (event: SessionEmitted) => {
    lastEmitted = event;
  });

  let resolveClosed: (cause: CloseCause) => void = () => {};
  const closed = new Promise<CloseCause>((resolve) => {
    resolveClosed = resolve;
  });
  /** The first time alone. */
  let end = (cause: CloseCause) => {
    end = () => {};
    edge?.closed(cause);
    resolveClosed(cause);
  };
  const drain = (reason: string) => actor.send({ type: 'session.shutdown', reason });
  const shutdown = edge?.shutdown(drain) ?? drain;
  const dump = () => {
    const { context, value, children } = actor.getSnapshot();
    return dumpSession({
      id: session.id,
      context,
      value,
      children,
      tasks: tasks(),
      limits,
      now: clock.now(),
      startedAt,
      lastHeardAt: Math.max(hearing.lastHeardAt, startedAt),
    });
  };
  let made: SessionStreams | undefined;
  const streams = () =>
    (made ??= sessionStreams({ actor, traffic, clock, guard, emitted: () => lastEmitted }));

  const handle: McpSession = {
    actor,
    closed,
    shutdown,
    get id() {
      return session.id;
    },
    get state() {
      return session.state;
    },
    get state$() {
      return streams().state$;
    },
    get roots$() {
      return streams().roots$;
    },
    get events$() {
      return streams().events$;
    },
    get traffic$() {
      return streams().traffic$;
    },
    resourceUpdated: session.resourceUpdated,
    elicitationCompleted: session.elicitationCompleted,
    dump,
    ping: async ({ timeoutMs = limits.keepaliveTimeoutMs, signal: aborted } = {}) => {
      const askedAt = clock.now();
      const { correlation } = actor.getSnapshot().context;
      const send = (until: AbortSignal | undefined) =>
        pingClient(correlation, { timeoutMs, signal: until });
      await (edge ? edge.ping(timeoutMs, aborted, send) : send(aborted));
      return clock.now() - askedAt;
    },
    [Symbol.asyncDispose]: async () => {
      shutdown('disposed');
      await closed;
    },
  };

  const begin = () => {
    const releases: (() => void)[] = [];
    const finish = (cause: CloseCause) => {
      end(cause);
      for (const release of releases.splice(0)) release();
    };
    tellFacts(actor, report);
    actor.subscribe({
      next: ({ output }) => {
        if (output) end(output.cause);
      },
      error: (error) => finish({ kind: 'failure', error }),
      complete: () => finish({ kind: 'shutdown', reason: 'The actor was stopped' }),
    });
    const { onEmitted, onRootsUpdated, watchers = [] } = options;
    const tell = (event: SessionEmitted) => {
      if (onRootsUpdated && event.type === 'roots.updated') onRootsUpdated(event.report);
      onEmitted?.(event);
    };
    // In any case: what is emitted last is known only where somebody listens.
    actor.on('*', (event) =>
      edge ? edge.listener(event.type, () => guard(() => tell(event))) : tell(event),
    );
    for (const watch of watchers) {
      watch({ id: session.id, actor, closed, dump, traffic, transitions, limits, clock });
    }
    releases.push(start(), opened(handle));
    if (!signal) return;
    const abort = () => shutdown(textOfError(signal.reason));
    signal.addEventListener('abort', abort);
    releases.push(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  };
  return { logic, input, transitions, session: handle, begin };
}

/** The clock of the actor's system, where it tells the time. XState's default has timers alone, and they keep a process alive. */
function clockOf(actor: object): Clock {
  const { clock } = actor as { readonly clock?: Partial<Clock> };
  return clock && typeof clock.now === 'function' ? (clock as Clock) : systemClock;
}

/** What the session's machine does, as facts. */
function tellFacts(actor: SessionActorRef, report: Report): void {
  let state = '';
  actor.subscribe({
    next: (snapshot) => {
      const name = stateOf(snapshot);
      if (name === state) return;
      const details = { from: state };
      report({ level: 'debug', name: 'session.state', message: name, details });
      state = name;
    },
    error: () => {},
  });
  actor.on('roots.updated', ({ report: roots }) =>
    report({
      level: 'info',
      name: 'roots.updated',
      message: `Roots are ${roots.status}: ${roots.roots.length}`,
      details: { generation: roots.generation, settled: roots.settled, problem: roots.problem },
    }),
  );
  actor.on('notification.ignored', ({ notification }) =>
    report({
      level: 'debug',
      name: 'notification.ignored',
      message: `"${notification}" means nothing in this state`,
    }),
  );
  actor.on('session.closed', ({ cause }) =>
    report({ level: 'info', name: 'session.closed', message: cause.kind, details: { cause } }),
  );
}
