/**
 * The composition root: a definition and a transport become a session's actor system.
 */
import { createActor } from 'xstate';
import type { ActorRefFrom, InspectionEvent, Observer, SnapshotFrom } from 'xstate';
import { systemClock } from '../actors/clock.ts';
import { pingClient } from '../actors/ping.actor.ts';
import type { Traffic } from '../actors/traffic.ts';
import type { Clock } from '../actors/clock.ts';
import type { RootsReport } from '../machines/roots.machine.ts';
import type { sessionMachine } from '../machines/session.machine.ts';
import type { CloseCause } from '../machines/session-ports.ts';
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../protocol/facts.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { SessionHandle, SessionState } from './context/session-view.ts';
import type { ServerDefinition } from './definition.ts';
import { defaultLimits } from './limits.ts';
import type { Limits } from './limits.ts';
import type { Middleware } from './middleware.ts';
import { offerOf } from './offer.ts';
import type { Offer } from './offer.ts';
import { dumpSession } from './session-dump.ts';
import type { SessionDump } from './session-dump.ts';
import type { SessionEdge } from './session-edge.ts';
import { createSessionLogic } from './session-logic.ts';
import type { Transport } from './transport.ts';

export interface ListenOptions {
  /** Overrides of {@link defaultLimits}. */
  readonly limits?: Partial<Limits>;
  /** Hears what happens; by default nobody does. */
  readonly report?: Report;
  /** Called on each roots update, with the report that handlers see from then on. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  /** Ends the session. */
  readonly signal?: AbortSignal;
  /** Tests drive a session's time through this. */
  readonly clock?: Clock;
  /** The time of day, for what clients are told of when: a task's timestamps. Tests drive it as they drive `clock`. */
  readonly wallClock?: () => Date;
  /** XState's inspection events. Every event costs more while somebody inspects. */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
  /** Makes ids that nobody can guess, of requests to the client and of tasks; by default the platform's random UUIDs. Tests make them known. */
  readonly randomId?: () => string;
  /** Stands between the session and everything outside of it: a recorder. It serves one session. */
  readonly edge?: SessionEdge;
  /** Those who look at all of it, such as a page: each is called once, before the session starts. */
  readonly watchers?: readonly Watcher[];
}

/** Looks at a session. What it throws is thrown by `listen`. */
export type Watcher = (watched: WatchedSession) => void;

/** A session as a {@link Watcher} gets it. */
export interface WatchedSession extends Pick<McpSession, 'id' | 'actor' | 'closed' | 'dump'> {
  /** What passes between session and client. */
  readonly traffic: Pick<Traffic, 'listen'>;
  readonly limits: Limits;
  readonly clock: Clock;
}

/** A session that is being served. */
export interface McpSession extends SessionHandle, AsyncDisposable {
  /** The session machine's actor: its state, its emitted events, its children. */
  readonly actor: ActorRefFrom<typeof sessionMachine>;
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

/** A server. What it offers may change while sessions are open: their clients are told. */
export interface McpServer extends Omit<Offer, 'middleware'> {
  /** Serves one session over a transport. Each call is a session of its own. */
  listen(transport: Transport, options?: ListenOptions): McpSession;
  /** Puts code around every handler, inside what was put there before. For sessions that begin from now on. */
  use(middleware: Middleware): void;
  /** Tells the clients that have subscribed to a resource that it has changed. */
  resourceUpdated(uri: string): void;
  /**
   * Tells the client that was asked to open a URL that it is done.
   * @returns false where no open session has such an elicitation
   */
  elicitationCompleted(elicitationId: string): boolean;
}

/** Makes a server of a definition. It does nothing until it listens. */
export function createMcpServer(definition: ServerDefinition): McpServer {
  const middleware: Middleware[] = [];
  const sessions = new Set<McpSession>();
  const offer = offerOf(definition);
  return {
    ...offer,
    listen: (transport, options = {}) => {
      const session = startSession(
        definition,
        { ...offer, middleware: [...middleware] },
        transport,
        options,
      );
      sessions.add(session);
      void session.closed.then(() => sessions.delete(session));
      return session;
    },
    use: (layer) => {
      middleware.push(layer);
    },
    resourceUpdated: (uri) => {
      for (const session of sessions) session.resourceUpdated(uri);
    },
    elicitationCompleted: (elicitationId) =>
      [...sessions].some((session) => session.elicitationCompleted(elicitationId)),
  };
}

function startSession(
  definition: ServerDefinition,
  offer: Offer,
  transport: Transport,
  options: ListenOptions,
): McpSession {
  const { report = () => {}, clock = systemClock, wallClock = () => new Date() } = options;
  const { onRootsUpdated, signal, edge, randomId = () => crypto.randomUUID() } = options;
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const notify = (method: string, params?: JsonObject) => {
    if (!isOperating()) return;
    const frame = { jsonrpc: '2.0', method, ...(params ? { params } : {}) } as const;
    actor.getSnapshot().context.writer.send({ type: 'frames.send', frames: [frame] });
  };
  const isOperating = () => {
    const snapshot = actor.getSnapshot();
    return snapshot.matches('initialized') || snapshot.matches('rootsKnown');
  };
  const whenOperating = (listener: () => void) => {
    if (isOperating()) {
      listener();
      return () => {};
    }
    const subscription = actor.on('session.initialized', listener);
    return () => subscription.unsubscribe();
  };
  const startedAt = clock.now();
  const {
    logic,
    clock: ownClock,
    input,
    session,
    traffic,
    hearing,
    tasks,
    stop,
  } = createSessionLogic(definition, offer, transport, {
    state: () => nameOf(actor.getSnapshot().value),
    limits,
    report,
    clock,
    notify,
    whenOperating,
    timeOfDay: () => wallClock().toISOString(),
    inspect: options.inspect,
    randomId,
    edge,
  });
  const actor = createActor(logic, {
    input,
    clock: ownClock,
    logger: (...words: unknown[]) =>
      report({ level: 'debug', name: 'machine.log', message: words.map(String).join(' ') }),
    ...(options.inspect ? { inspect: options.inspect } : {}),
  });

  const closed = new Promise<CloseCause>((resolve) => {
    let state = '';
    actor.subscribe({
      next: ({ value, output }) => {
        const name = nameOf(value);
        if (name !== state) {
          report({
            level: 'debug',
            name: 'session.state',
            message: name,
            details: { from: state },
          });
        }
        state = name;
        if (output) resolve(output.cause);
      },
      error: (error) => resolve({ kind: 'failure', error }),
      complete: () => resolve({ kind: 'shutdown', reason: 'The actor was stopped' }),
    });
  });
  actor.on('roots.updated', ({ report: roots }) => {
    report({
      level: 'info',
      name: 'roots.updated',
      message: `Roots are ${roots.status}: ${roots.roots.length}`,
      details: { generation: roots.generation, settled: roots.settled, problem: roots.problem },
    });
    const tell = () => guard(onRootsUpdated, roots, report);
    if (edge) edge.listener('roots.updated', tell);
    else tell();
  });
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

  const end = (reason: string) => actor.send({ type: 'session.shutdown', reason });
  const shutdown = edge?.shutdown(end) ?? end;
  const abort = () => shutdown(textOfError(signal?.reason));
  signal?.addEventListener('abort', abort);
  void closed.then((cause) => {
    edge?.closed(cause);
    signal?.removeEventListener('abort', abort);
    stop();
  });
  const dump = () => {
    const { context, value, children } = actor.getSnapshot();
    const { lastHeardAt } = hearing;
    const now = clock.now();
    const { id } = session;
    return dumpSession({
      id,
      context,
      value,
      children,
      tasks: tasks(),
      limits,
      now,
      startedAt,
      lastHeardAt,
    });
  };
  for (const watch of options.watchers ?? []) {
    watch({ id: session.id, actor, closed, dump, traffic, limits, clock });
  }
  actor.start();
  if (signal?.aborted) abort();

  return {
    actor,
    closed,
    shutdown,
    get id() {
      return session.id;
    },
    get state() {
      return session.state;
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
}

/** The state that a session is in, whatever it is in within that. */
function nameOf(value: SnapshotFrom<typeof sessionMachine>['value']): SessionState {
  return typeof value === 'string' ? value : (Object.keys(value)[0] as SessionState);
}

/** A host's error in a listener is the host's: it must not end the session. */
function guard<T>(listener: ((value: T) => void) | undefined, value: T, report: Report): void {
  try {
    listener?.(value);
  } catch (error) {
    report({
      level: 'error',
      name: 'listener.failed',
      message: `A listener failed: ${textOfError(error)}`,
      details: { error },
    });
  }
}
