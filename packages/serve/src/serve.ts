/** A server of one's own as a process that a host starts. */
import { refuseOldNode } from './node-version.ts';
import { addCallerFrames } from '../../../src/actors/caller-frames.ts';
import { relative } from 'node:path';
import type { McpServer, ListenOptions } from '../../../src/server/create-server.ts';
import { humanForm, jsonForm } from '../../diagnostics/src/log/log-line.ts';
import { createLog } from '../../diagnostics/src/log/log.ts';
import type {
  CommandFact,
  LineSink,
  Log,
  LogOptions,
  LogThreshold,
} from '../../diagnostics/src/log/log.ts';
import type { ServedEndpoint } from '../../diagnostics/src/sessions-text.ts';
import { thisPlatform } from '../../processes/src/platforms.ts';
import { announce } from './doctor/exchange.ts';
import { answerDoctors } from './doctor/dump-answer.ts';
import { AddressError } from '../../../src/transports/listen-on.ts';
import { stdio } from '../../../src/transports/stdio.ts';
import { defaultLimits, mergeLimits } from '../../../src/actors/limits.ts';
import type { ServedHttpRequest } from '../../../src/protocol/request-origin.ts';
import type { McpSession } from '../../../src/server/session.ts';
import type { ServerFactory } from '../../http/src/index.ts';
import type { SessionlessTasks } from '../../../src/server/task-resumer.actor.ts';
import type { TaskWorker } from '../../tasks/src/task-worker.ts';
import type { TaskStore } from '../../tasks/src/task-store.ts';
import type { CloseCause } from '../../../src/machines/session-ports.ts';
import type { HttpServing, ServeHttpOptions } from './http-serving.ts';
import { stderrSink } from './stderr-sink.ts';
import { isSupervised } from './supervisor/supervised.ts';
import { exitProcess, serveToEnd, signalDrainTimeoutMs } from './process-end.ts';
import type { Ending } from './process-end.ts';

/** Options of {@link serve} over stdio: those of `listen`, logging and shutdown. */
export interface ServeOptions extends Omit<ListenOptions, 'clock' | 'durable'> {
  /** Minimum log level on stderr. Default: `warning`, over HTTP `info`. Ignored with a `report`. */
  readonly logLevel?: LogThreshold;
  /**
   * Called after the session ends and before the process exits, to flush data. The process does not
   * wait longer than a second.
   */
  readonly beforeExit?: () => Promise<void>;
  /**
   * Where tasks are written down, so that they outlive the process: a directory, which needs SQLite
   * (Node has it since 22.13; `npm install @photostructure/sqlite` before that); `postgres://…`, which
   * needs the package `pg`; `redis://…`, which needs the package `redis`; or a store of your own. Over HTTP, sessions
   * are kept there, too, and calls of durable tools are resumed; not with a store of your own, or with `http.stores`.
   */
  readonly durable?: string | TaskStore;
  /**
   * Runs the server in a child process over stdio: this process starts its script again, holds the
   * host's pipes, and restarts the child when it ends. The host stays connected, and unfinished
   * calls of durable tools are resumed. Code before `serve` runs in both processes.
   */
  readonly supervise?: boolean;
}

/** Options of {@link serve} over HTTP, without per-session options. */
export interface ServeOverHttpOptions extends Omit<ServeOptions, 'environment' | 'supervise'> {
  /** Listening address and authorization. */
  readonly http: ServeHttpOptions;
}

/** A running server. */
export interface Started {
  readonly ending: Ending;
  /** Open sessions. */
  sessions(): readonly McpSession[];
  /** HTTP endpoint, if any. */
  readonly endpoint?: ServedEndpoint;
}

/** Timeout of `beforeExit`, milliseconds. Hosts soon kill a server. */
const releaseTimeoutMs = 1000;

/**
 * Serves one session over stdin and stdout, or any number of them over HTTP, and ends the process
 * with it.
 *
 * - SIGINT, SIGTERM and SIGHUP end it: calls get a second to finish, over HTTP two, or
 *   `drainTimeoutMs` of `limits`. A second signal ends the process at once.
 * - Once the sessions have ended, the process ends, whatever timers and sockets are left.
 * - The log goes to stderr: one JSON object per line, or lines for people at a terminal. An error of a
 *   handler has its stack and its causes. Lines past a bounded rate are counted.
 * - An exception that nobody catches and a rejection that nobody handles are logged and end the
 *   server. The exit code is then 1, otherwise 0.
 * - At a terminal, stderr says in one line that it waits for a host, and how to try it.
 * - SIGUSR2, and `mcp-actors doctor`, are answered with what the sessions wait for.
 * - If the address cannot be listened on, the log says why, and the process ends with 1.
 *
 * It takes the whole process over. To embed a session use `server.listen(stdio())`, and `serveHttp`
 * for a server over HTTP.
 *
 * ```ts
 * await serve(server);
 * await serve(server, { http: { port: 3000 } });
 * ```
 *
 * @throws what a watcher throws, or what is wrong with an option; nothing has been started then
 */
export async function serve(server: McpServer, options?: ServeOptions): Promise<void>;
export async function serve(server: ServerFactory, options: ServeOverHttpOptions): Promise<void>;
export async function serve(
  server: ServerFactory,
  options: ServeOptions | ServeOverHttpOptions = {},
): Promise<void> {
  refuseOldNode('mcp-actors');
  // The module is loaded for its server alone: what it does after the end would never come.
  if (isTaken(server)) return await new Promise(() => {});
  const isHttp = 'http' in options;
  const isSupervisedHere = isSupervised();
  const { logLevel: level = isHttp ? 'info' : 'warning', beforeExit } = options;
  const {
    supervise: isToSupervise,
    durable,
    ...served
  } = options as typeof options & Pick<ServeOptions, 'supervise'>;
  if (isToSupervise && !isSupervisedHere) {
    if (isHttp) throw new TypeError('supervise must not be combined with http');
    const { ownCommandLine, supervise } = await import('./supervisor/supervise.ts');
    const { logLevel } = options;
    return await exitProcess(await supervise({ args: ownCommandLine(), logLevel }));
  }
  const log = options.report ? hostLog(options.report) : processLog({ level });
  let started: Started;
  let taskWorker: TaskWorker | undefined;
  let resumer: SessionlessTasks | undefined;
  try {
    if (durable !== undefined) {
      // Loaded only for durable servers.
      const { openTaskWorker } = await import('./open-task-worker.ts');
      const { SessionlessTasks } = await import('../../../src/server/task-resumer.actor.ts');
      const { report } = log;
      // Per-request servers do not exist yet.
      const made = typeof server === 'function' ? undefined : server;
      const limits = mergeLimits(options.limits ?? {});
      taskWorker = await openTaskWorker(durable, server, {
        ...{ report, limits },
        resumer:
          made &&
          ((by) => {
            const common = sessionOptions(served);
            return (resumer = new SessionlessTasks(made, by, { ...common, report }));
          }),
      });
    }
    const common: Undurable<ServeOptions> | Undurable<ServeOverHttpOptions> = {
      ...served,
      ...(taskWorker ? { durable: taskWorker } : {}),
      ...(isSupervisedHere && !isHttp ? { supervised: true } : {}),
    };
    started =
      'http' in common
        ? await startHttp(
            server,
            { ...common, http: await durableHttp(server, common.http, durable) },
            log,
          )
        : overStdio(server as McpServer, common, log);
  } catch (error) {
    await taskWorker?.close();
    if (error instanceof AddressError) return await refuseAddress(error, log);
    // Let the caller await first, so that its frames are known.
    await Promise.resolve();
    throw addCallerFrames(error);
  }
  const { drainTimeoutMs } = options.limits ?? {};
  const release =
    (beforeExit ?? taskWorker) &&
    (() => released(() => Promise.all([beforeExit?.(), taskWorker?.close()]), log));
  const sessions = () => [...started.sessions(), ...(resumer?.session ? [resumer.session] : [])];
  const ended = waitForExit({ ...started, sessions }, { log, drainTimeoutMs, release });
  // Do not delay the first answer to the host.
  if (thisPlatform.pipes === undefined) setImmediate(announce).unref();
  await exitProcess(await ended);
}

/**
 * Serves over HTTP without taking over the process. Stop it with `close`.
 *
 * ```ts
 * await using serving = await serveHttp(server, { port: 0 });
 * console.log(serving.url.href);
 * ```
 *
 * @throws {TypeError} if an option is invalid
 * @throws {Error} if the address is unavailable; `code` is Node's, such as EADDRINUSE
 */
export async function serveHttp(
  server: ServerFactory,
  options: ServeHttpOptions,
): Promise<HttpServing> {
  // Loaded only for HTTP.
  const { listenHttp } = await import('./http-serving.ts');
  return listenHttp(server, options);
}

/**
 * Waits for the end of a server, and answers `doctor` meanwhile.
 *
 * @returns the exit code, after flushing the log
 */
export function waitForExit(started: Started, end: EndOptions): Promise<number> {
  const { endpoint } = started;
  const { log, release } = end;
  const drainTimeoutMs =
    end.drainTimeoutMs ?? (endpoint ? defaultLimits.drainTimeoutMs : signalDrainTimeoutMs);
  const ended = serveToEnd(started.ending, log, drainTimeoutMs, release);
  const dumps = () => started.sessions().map((session) => session.dump());
  answerDoctors({ dumps, endpoint, stderr: stderrSink(), log });
  return ended;
}

/** Options of {@link waitForExit}. */
interface EndOptions {
  readonly log: Log;
  /** Drain timeout after a signal, milliseconds. */
  readonly drainTimeoutMs: number | undefined;
  /** Called before the exit code is decided. */
  readonly release: (() => Promise<void>) | undefined;
}

/** Sessions are kept where tasks are, so that calls are resumed in the session that they were made in. */
async function durableHttp(
  server: ServerFactory,
  http: ServeHttpOptions,
  durable: ServeOptions['durable'],
): Promise<ServeHttpOptions> {
  const isOwn = http.stores !== undefined || http.stateless === true;
  if (typeof durable !== 'string' || typeof server === 'function' || isOwn) return http;
  const { openStores } = await import('./open-stores.ts');
  return { ...http, stores: await openStores(durable, server, http.limits) };
}

/** There is nothing to debug: one line says it, and no stack. */
async function refuseAddress({ message, code }: AddressError, log: Log): Promise<void> {
  log.report({
    level: 'error',
    name: 'http.unavailable',
    message,
    details: { code },
  } satisfies CommandFact);
  await log.close();
  await exitProcess(1);
}

/** Options shared with the session of resumed tasks. */
function sessionOptions({
  environment: _,
  http: __,
  logLevel: ___,
  beforeExit: ____,
  ...common
}: Undurable<ServeOptions> & { readonly http?: unknown }) {
  return common;
}

/** Options with the opened store. */
type Undurable<TOptions> = Omit<TOptions, 'durable'> & Pick<ListenOptions, 'durable'>;

function overStdio(
  server: McpServer,
  { logLevel: _, beforeExit: __, ...options }: Undurable<ServeOptions>,
  { report }: Log,
): Started {
  const session = server.listen(stdio(), { ...options, report });
  if (process.stdin.isTTY) process.stderr.write(terminalHint(server.definition.name));
  return { ending: session, sessions: () => [session] };
}

/**
 * Serves over HTTP and reports the URL.
 *
 * @throws as {@link serveHttp}
 */
export async function startHttp(
  server: ServerFactory,
  { http, logLevel: _, beforeExit: __, ...common }: Undurable<ServeOverHttpOptions>,
  { report }: Pick<Log, 'report'>,
): Promise<Started & { readonly endpoint: ServedEndpoint }> {
  const { defaultHttpLimits } = await import('../../http/src/options.ts');
  const { session: given, limits } = http;
  const session = (request: ServedHttpRequest) => {
    const own = typeof given === 'function' ? given(request) : given;
    return { ...common, report, ...own };
  };
  const serving = await serveHttp(server, { report, ...http, session });
  const { href } = serving.url;
  report({
    level: 'info',
    name: 'http.listening',
    message: `Listening on ${href}`,
    details: { url: href },
  } satisfies CommandFact);
  const maxSessions = limits?.maxSessions ?? defaultHttpLimits.maxSessions;
  return {
    ending: endingOf(serving),
    sessions: () => serving.sessions,
    endpoint: { url: href, maxSessions },
  };
}

/** Adapts an HTTP server to {@link Ending}. */
function endingOf(serving: HttpServing): Ending {
  let resolve: (cause: CloseCause) => void;
  const closed = new Promise<CloseCause>((settle) => {
    resolve = settle;
  });
  return {
    closed,
    shutdown(reason, drainTimeoutMs) {
      void serving.close(drainTimeoutMs).then(() => resolve({ kind: 'shutdown', reason }));
    },
  };
}

function hostLog(report: Log['report']): Log {
  return { report, close: () => Promise.resolve() };
}

/** Creates the log of this process, on stderr or the given sink. */
export function processLog({ sink, ...options }: ProcessLogOptions): Log {
  // Always created, because its listener keeps a broken stderr from ending the process.
  const stderr = stderrSink();
  const form = !sink && process.stderr.isTTY ? humanForm : jsonForm;
  return createLog({ ...options, form, sink: sink ?? stderr });
}

interface ProcessLogOptions extends Pick<LogOptions, 'level' | 'state'> {
  readonly sink?: LineSink | undefined;
}

/** Message for a user who starts the server in a terminal, where it would print nothing. */
function terminalHint(name: string): string {
  const [, script = ''] = process.argv;
  const runner = /\.[cm]?tsx?$/.test(script) ? 'npx tsx' : 'node';
  const line = `${runner} ${relative(process.cwd(), script)}`;
  return `${name} is waiting for an MCP host on stdin. Press Ctrl+D to exit. To list its tools: npx mcp-actors call --list -- ${line}\n`;
}

/** Never rejects, because the process must exit. */
async function released(beforeExit: () => Promise<unknown>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const late = () => reject(new Error(`no completion within ${releaseTimeoutMs} ms`));
    timer = setTimeout(late, releaseTimeoutMs);
  });
  try {
    await Promise.race([beforeExit(), tooLate]);
  } catch (error) {
    const message = `beforeExit failed: ${String(error)}`;
    log.report({ level: 'error', name: 'process.failed', message, details: { error } });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Key of a global callback: when a module is loaded only for its server, `serve` passes the server
 * to the loading code. It is global because both may have their own copy of this package.
 */
const key = Symbol.for('mcp-actors.takeServed');

interface Place {
  [key]?: ((server: ServerFactory) => void) | undefined;
}

const place = globalThis as Place;

/**
 * Runs code that may call `serve`. Resolves with its result or, if `serve` is called first, with
 * the server, which is not started.
 */
export async function runOrServe<T>(run: () => Promise<T>): Promise<T | ServerFactory> {
  const served = new Promise<ServerFactory>((resolve) => {
    place[key] = resolve;
  });
  try {
    return await Promise.race([run(), served]);
  } finally {
    place[key] = undefined;
  }
}

/** True if the loading code took the server. */
function isTaken(server: ServerFactory): boolean {
  const take = place[key];
  take?.(server);
  return take !== undefined;
}
