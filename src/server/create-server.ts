/**
 * The composition root: makes a server of a definition, and a session's actor system of a server
 * and a transport.
 */
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
import { rememberChanges } from './changes.ts';
import { ServerCore } from './server-core.ts';
import { connected, sessionLogic } from './session-actor.ts';
import type { SessionLogic } from './session-actor.ts';
import { liveEnvironment } from './session/session-environment.ts';
import type { SessionEnvironment } from './session/session-environment.ts';
import { ServedSession } from './session.ts';
import type { McpSession, SessionOptions } from './session.ts';
import type { Transport } from '../transports/transport.ts';

/** How a session is served beside its transport: its bounds, its clock, and who watches. */
export interface ListenOptions extends SessionOptions {
  /** The session's time. Tests give a clock that they drive. */
  readonly clock?: Clock;
  /** What the session gets from outside, such as a recorder's. It serves one session. */
  readonly environment?: SessionEnvironment;
}

/**
 * A server. What it offers may change while sessions are open: their clients are notified. Its type
 * knows the tools and prompts of its definition; `McpServer` alone stands for any server.
 */
export interface McpServer<
  TTools extends readonly Tool[] = readonly Tool[],
  TPrompts extends readonly Prompt[] = readonly Prompt[],
> extends OfferedFeatures {
  /** What the server was made of, or was replaced by. What it offers now is in `tools`, `prompts` and so on. */
  readonly definition: ServerDefinition<TTools, TPrompts>;
  /** Starts a session over a transport. Each call starts another session. */
  listen(transport: Transport, options?: ListenOptions): McpSession;
  /** Sessions as actor logic, for a host that invokes or spawns them in its own actor system. */
  readonly sessionLogic: SessionLogic;
  /**
   * Replaces the definition of the server: tools, resources, prompts and all else that it says. New
   * calls get it, in all sessions at once. Calls that run or are suspended go on with what
   * they began with. Clients are told of each list that is not the same for them. What was added,
   * removed or disabled since is forgotten; sessions, subscriptions and middleware stay.
   *
   * @throws {TypeError} the definition is wrong, or differs in `name`, `stateKeys` or `upstream`, which
   *   hold as long as the server; nothing has changed then
   */
  replace(definition: ServerDefinition): void;
  /** Puts middleware around every handler, inside earlier middleware. Applies to new sessions. */
  use(middleware: Middleware): void;
  /** Notifies the clients that have subscribed to a resource that it has changed. */
  resourceUpdated(uri: string): void;
  /**
   * Tells the client that was asked to open a URL that the elicitation is completed.
   * @returns false if no open session has such an elicitation
   */
  elicitationCompleted(elicitationId: string): boolean;
  /**
   * Says that what `visible` of an item answers may have changed. Each client whose list is another
   * one by now is told so; the others hear nothing.
   */
  visibilityChanged(): void;
  /**
   * Ends what outlives the sessions, such as processes that the clients of a bridge share. The
   * sessions are to be closed before. `serve` needs no such call: all ends with the process.
   */
  close(): Promise<void>;
}

/** Makes a server. It does nothing until it has a session. */
export function createMcpServer<
  const TTools extends readonly Tool[] = readonly Tool[],
  const TPrompts extends readonly Prompt[] = readonly Prompt[],
>(definition: ServerDefinition<TTools, TPrompts>): McpServer<TTools, TPrompts> {
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
  rememberChanges(server, {
    listen: (listener) => core.listen(listener),
    tell: (method, uri) => core.changedElsewhere(method, uri),
    missed: () => core.changesMissed(),
  });
  return server;
}

/** Whether anyone wants to see a session from its beginning on. */
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

/** Runs a session in an actor system of its own. */
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
  connected(session, transport).open(isWatched(listening));
  return session;
}

const silent = () => {};

/** Reports what the machines log. */
function loggerOf(report: Report<FactName>) {
  return (...words: unknown[]) =>
    report({ level: 'debug', name: 'machine.log', message: words.map(String).join(' ') });
}

/** If a transport or a watcher throws, there is no session, and `listen` throws the error. */
function throwIfFailed(actor: { getSnapshot(): { status: string; error: unknown } }): void {
  const { status, error } = actor.getSnapshot();
  if (status === 'error') throw error;
}
