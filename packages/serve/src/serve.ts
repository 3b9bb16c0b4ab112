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

/** How a server is served over stdio: the options of `listen`, its log, and its end. */
export interface ServeOptions extends Omit<ListenOptions, 'clock' | 'durable'> {
  /**
   * What is logged to stderr; by default `warning` and above, over HTTP `info` and above. Not used if
   * there is a `report`.
   */
  readonly logLevel?: LogThreshold;
  /**
   * Is awaited once the session has ended and before the process ends, to flush what must not be
   * lost. If it takes more than a second, the process ends without it.
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
   * Serves by a process of its own, over stdio: this process starts its script once more, holds the host's pipe, and
   * starts another one when that ends. The host stays connected, and its unfinished calls of durable tools are resumed.
   * The code before `serve` runs in both.
   */
  readonly supervise?: boolean;
}

/** Options of {@link serve} over HTTP. What a session has to itself is not among them. */
export interface ServeOverHttpOptions extends Omit<ServeOptions, 'environment' | 'supervise'> {
  /** Where it listens, and who may use it. */
  readonly http: ServeHttpOptions;
}

/** What is being served, until it ends. */
export interface Started {
  readonly ending: Ending;
  /** Those that are open. */
  sessions(): readonly McpSession[];
  /** Where it serves, if that is over HTTP. */
  readonly endpoint?: ServedEndpoint;
}

/** How long `beforeExit` may take, milliseconds: a host kills a server soon. */
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
    if (isHttp) throw new TypeError('supervise must be left out with http: no pipe has to be held');
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
      // A server that keeps nothing starts without it.
      const { openTaskWorker } = await import('./open-task-worker.ts');
      const { SessionlessTasks } = await import('../../../src/server/task-resumer.actor.ts');
      const { report } = log;
      // A server that is made for each request is not there without one.
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
    // It is known who awaits this only when they do.
    await Promise.resolve();
    throw addCallerFrames(error);
  }
  const { drainTimeoutMs } = options.limits ?? {};
  const release =
    (beforeExit ?? taskWorker) &&
    (() => released(() => Promise.all([beforeExit?.(), taskWorker?.close()]), log));
  const sessions = () => [...started.sessions(), ...(resumer?.session ? [resumer.session] : [])];
  const ended = waitForExit({ ...started, sessions }, { log, drainTimeoutMs, release });
  // The host that has launched it waits for its first answer.
  if (thisPlatform.pipes === undefined) setImmediate(announce).unref();
  await exitProcess(await ended);
}

/**
 * Serves over HTTP, and leaves the process to its owner: it is ended by `close`.
 *
 * ```ts
 * await using serving = await serveHttp(server, { port: 0 });
 * console.log(serving.url.href);
 * ```
 *
 * @throws {TypeError} an option is wrong; {Error} the address is not available, in a sentence; its
 *   `code` is Node's own, such as EADDRINUSE
 */
export async function serveHttp(
  server: ServerFactory,
  options: ServeHttpOptions,
): Promise<HttpServing> {
  // A server over stdio starts without it.
  const { listenHttp } = await import('./http-serving.ts');
  return listenHttp(server, options);
}

/**
 * Ends what is served with the process, and answers doctors meanwhile.
 *
 * @returns the exit code, once the log is flushed
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

/** Result of {@link waitForExit}. */
interface EndOptions {
  readonly log: Log;
  /** How long calls may take to finish after a signal, milliseconds. */
  readonly drainTimeoutMs: number | undefined;
  /** Is awaited before the exit code is decided. */
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

/** What the session of tasks that go on has in common with others. */
function sessionOptions({
  environment: _,
  http: __,
  logLevel: ___,
  beforeExit: ____,
  ...common
}: Undurable<ServeOptions> & { readonly http?: unknown }) {
  return common;
}

/** With what its option has been made of. */
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
 * Serves over HTTP, and reports the address.
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

/** A server over HTTP as what a signal ends. */
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

/** The log of this process: on stderr, unless there is a sink for it. */
export function processLog({ sink, ...options }: ProcessLogOptions): Log {
  // Always made: without its listener, a broken stderr would end the process.
  const stderr = stderrSink();
  const form = !sink && process.stderr.isTTY ? humanForm : jsonForm;
  return createLog({ ...options, form, sink: sink ?? stderr });
}

interface ProcessLogOptions extends Pick<LogOptions, 'level' | 'state'> {
  readonly sink?: LineSink | undefined;
}

/** For a person who starts it to see what it does: it would say nothing. */
function terminalHint(name: string): string {
  const [, script = ''] = process.argv;
  const runner = /\.[cm]?tsx?$/.test(script) ? 'npx tsx' : 'node';
  const line = `${runner} ${relative(process.cwd(), script)}`;
  return `${name} waits for an MCP host on stdin. Ctrl+D ends it. To see its tools: npx mcp-actors call --list -- ${line}\n`;
}

/** Never rejects: the process has to end. */
async function released(beforeExit: () => Promise<unknown>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const late = () => reject(new Error(`It has not ended within ${releaseTimeoutMs} ms`));
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
 * A module that is loaded for its server is not served: `serve` hands the server over to the code
 * that loads the module. Both may have a copy of this package, so what they share is global.
 */
const key = Symbol.for('mcp-actors.takeServed');

interface Place {
  [key]?: ((server: ServerFactory) => void) | undefined;
}

const place = globalThis as Place;

/**
 * Runs something that may call `serve`, and gives what it comes to, or what was to be served, if that
 * is first. It is not served.
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

/** True if the server was taken. */
function isTaken(server: ServerFactory): boolean {
  const take = place[key];
  take?.(server);
  return take !== undefined;
}
