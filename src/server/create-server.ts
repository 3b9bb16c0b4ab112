/**
 * The composition root: a definition becomes a server, a transport and the server become a session's actor system.
 */
import type { Report } from '../actors/facts.ts';
import type { FactName } from './facts.ts';
import { createActor } from 'xstate';
import { systemClock } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import type { ServerDefinition } from '../define/definition.ts';
import type { Middleware } from '../features/middleware.ts';
import type { Catalog } from '../features/registry.ts';
import { ServerCore } from './server-core.ts';
import { sessionLogic, sessionOf } from './session-actor.ts';
import type { SessionLogic } from './session-actor.ts';
import { plainEdge } from '../session/session-edge.ts';
import type { SessionEdge } from '../session/session-edge.ts';
import type { McpSession, SessionOptions } from './session.ts';
import type { Transport } from '../transports/transport.ts';

export interface ListenOptions extends SessionOptions {
  /** Tests drive a session's time through this. */
  readonly clock?: Clock;
  /** Stands between the session and everything outside of it: a recorder. It serves one session. */
  readonly edge?: SessionEdge;
}

/** A server. What it offers may change while sessions are open: their clients are told. */
export interface McpServer extends Catalog {
  /** Serves one session over a transport. Each call is a session of its own. */
  listen(transport: Transport, options?: ListenOptions): McpSession;
  /** The same for a host that is an actor system itself: it invokes or spawns its sessions. */
  readonly sessionLogic: SessionLogic;
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

/** Makes a server of a definition. It does nothing until it has a session. */
export function createMcpServer(definition: ServerDefinition): McpServer {
  const core = new ServerCore(definition);
  const logic = sessionLogic(core);
  const { sessions } = core;
  return {
    ...core.catalog,
    sessionLogic: logic,
    listen: (transport, options = {}) => listen(logic, transport, options),
    use: (middleware) => core.use(middleware),
    resourceUpdated: (uri) => {
      for (const session of sessions) session.resourceUpdated(uri);
    },
    elicitationCompleted: (elicitationId) =>
      [...sessions].some((session) => session.elicitationCompleted(elicitationId)),
  };
}

/** Runs a session as a system of its own. */
function listen(
  logic: SessionLogic,
  transport: Transport,
  { clock: hostClock = systemClock, edge = plainEdge, ...options }: ListenOptions,
): McpSession {
  const { inspect, report } = options;
  const clock = edge.clock(hostClock);
  const actor = createActor(logic, {
    input: { ...options, transport, surroundings: { edge, clock, hostClock } },
    clock,
    logger: report ? loggerOf(report) : silent,
    ...(inspect ? { inspect } : {}),
  });
  throwIfFailed(actor);
  const session = sessionOf(actor);
  actor.start();
  throwIfFailed(actor);
  return session;
}

const silent = () => {};

/** What the machines log, as facts. */
function loggerOf(report: Report<FactName>) {
  return (...words: unknown[]) =>
    report({ level: 'debug', name: 'machine.log', message: words.map(String).join(' ') });
}

/** A transport that cannot be had, a watcher that fails: there is no session then, and who listens is told so. */
function throwIfFailed(actor: { getSnapshot(): { status: string; error: unknown } }): void {
  const { status, error } = actor.getSnapshot();
  if (status === 'error') throw error;
}
