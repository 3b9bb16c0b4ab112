/** Composition root: creates servers from definitions, and session actor systems from transports. */
import { withAuthorStack } from '../protocol/author-stack.ts';
import type { Report } from '../actors/facts.ts';
import type { FactName } from './facts.ts';
import { createActor } from 'xstate';
import { systemClock } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import type { ServerDefinition } from './define/definition.ts';
import type { Prompt } from './define/prompt.ts';
import type { Tool } from './define/tool.ts';
import type { Middleware } from './features/middleware.ts';
import type { OfferedFeatures } from './features/registry.ts';
import { registerChanges } from './changes.ts';
import { ServerCore } from './server-core.ts';
import { connect, sessionLogic } from './session-actor.ts';
import type { SessionLogic } from './session-actor.ts';
import { liveEnvironment } from './session/session-environment.ts';
import type { SessionEnvironment } from './session/session-environment.ts';
import { ServedSession } from './session.ts';
import type { McpSession, SessionOptions } from './session.ts';
import type { Transport } from '../transports/transport.ts';

/** Options of {@link McpServer.listen}: limits, clock, reports and observers of one session. */
export interface ListenOptions extends SessionOptions {
  /** Clock of the session. Default: the system clock. Tests pass a controlled clock. */
  readonly clock?: Clock;
  /** Environment of this session, such as that of a recorder. Default: the live environment. */
  readonly environment?: SessionEnvironment;
}

/**
 * MCP server. Its lists (`tools`, `resources`, …) can change while sessions are open, and clients are
 * notified. The type parameters carry the tools and prompts of the definition; plain `McpServer` is any
 * server.
 */
export interface McpServer<
  TTools extends readonly Tool[] = readonly Tool[],
  TPrompts extends readonly Prompt[] = readonly Prompt[],
> extends OfferedFeatures {
  /** Definition passed to `createMcpServer` or `replace`. Current items are in `tools`, `prompts` and so on. */
  readonly definition: ServerDefinition<TTools, TPrompts>;
  /** Starts a session over a transport. Each call starts a new session. */
  listen(transport: Transport, options?: ListenOptions): McpSession;
  /** Sessions as actor logic, for hosts that invoke or spawn them in their own actor system. */
  readonly sessionLogic: SessionLogic;
  /**
   * Replaces the definition for new calls in all sessions. Running and suspended calls keep the old
   * one. Clients are notified of each list that changes for them. Items added, removed or disabled
   * since are discarded; sessions, subscriptions and middleware remain.
   *
   * @throws {TypeError} if the definition is invalid, or changes `name`, `stateKeys` or `upstream`. The
   *   server is then unchanged
   */
  replace(definition: ServerDefinition): void;
  /** Wraps every handler with middleware, inside earlier middleware. Applies to new sessions. */
  use(middleware: Middleware): void;
  /** Notifies subscribed clients that a resource has changed. */
  resourceUpdated(uri: string): void;
  /**
   * Notifies the client of a URL elicitation that it is complete.
   *
   * @returns false if no session here has an open elicitation with this id
   */
  elicitationCompleted(elicitationId: string): boolean;
  /** Reevaluates `visible` of all items, and notifies the clients whose lists have changed. */
  visibilityChanged(): void;
  /**
   * Releases what outlives sessions, such as processes shared by the clients of a bridge. Close the
   * sessions first. Not needed with `serve`, which ends with the process.
   */
  close(): Promise<void>;
}

/**
 * Creates a server. It is passive until `listen` or `serve` starts a session.
 *
 * @throws {TypeError} naming the invalid member of the definition
 */
export function createMcpServer<
  const TTools extends readonly Tool[] = readonly Tool[],
  const TPrompts extends readonly Prompt[] = readonly Prompt[],
>(definition: ServerDefinition<TTools, TPrompts>): McpServer<TTools, TPrompts> {
  return withAuthorStack(createMcpServer, () => {
    const core = new ServerCore(definition);
    const logic = sessionLogic(core);
    const server: McpServer<TTools, TPrompts> = {
      ...core.catalog,
      get definition() {
        return core.definition as ServerDefinition<TTools, TPrompts>;
      },
      sessionLogic: logic,
      listen: (transport, options = {}) => listen(core, logic, transport, options),
      replace: (next) => core.replace(next),
      use: (middleware) => core.use(middleware),
      resourceUpdated: (uri) => core.resourceChanged(uri),
      elicitationCompleted: (elicitationId) => core.elicitationCompleted(elicitationId),
      visibilityChanged: () => core.visibilityChanged(),
      close: async () => {
        await core.definition.upstream?.close?.();
      },
    };
    registerChanges(server, {
      listen: (listener) => core.listen(listener),
      notify: (method, uri) => core.remoteChange(method, uri),
      resync: () => core.resync(),
    });
    return server;
  });
}

/** True if an observer needs the session's actors from the start. */
export function isWatched(listening: ListenOptions): boolean {
  const { environment, inspect, onEmitted, onRootsUpdated, report, signal, watchers } = listening;
  return Boolean(
    environment ||
    inspect ||
    onEmitted ||
    onRootsUpdated ||
    signal ||
    watchers?.length ||
    (report && (report.threshold ?? 'debug') === 'debug'),
  );
}

/** Runs a session in its own actor system. */
function listen(
  core: ServerCore,
  logic: SessionLogic,
  transport: Transport,
  listening: ListenOptions,
): McpSession {
  const { clock: hostClock = systemClock, environment = liveEnvironment, ...options } = listening;
  const { inspect, report } = options;
  const clock = environment.clock(hostClock);
  const host = { environment, clock, hostClock };
  const session = new ServedSession(core, options, host, (listened) => {
    const actor = createActor(logic, {
      input: { transport, session: listened },
      clock,
      logger: report ? loggerOf(report) : silent,
      ...(inspect ? { inspect } : {}),
    });
    throwIfFailed(actor);
    actor.start();
    throwIfFailed(actor);
    return actor;
  });
  connect(session, transport).open(isWatched(listening));
  return session;
}

const silent = () => {};

/** Converts XState log output to facts. */
function loggerOf(report: Report<FactName>) {
  return (...words: unknown[]) =>
    report({ level: 'debug', name: 'machine.log', message: words.map(String).join(' ') });
}

/** Rethrows the error of a transport or watcher, which prevents the session. */
function throwIfFailed(actor: { getSnapshot(): { status: string; error: unknown } }): void {
  const { status, error } = actor.getSnapshot();
  if (status === 'error') throw error;
}
