/** A server of one's own as a process that a host starts. */
import type { McpServer, ListenOptions } from '../server/create-server.ts';
import { humanForm, jsonForm } from '../log/log-line.ts';
import { createLog } from '../log/log.ts';
import type { Log, LogThreshold } from '../log/log.ts';
import { stdio } from '../transports/stdio.ts';
import { exitProcess, served, signalDrainTimeoutMs } from './process-end.ts';
import { streamSink } from './stream-sink.ts';
import { isTaken } from './taken.ts';

export interface ServeOptions extends Omit<ListenOptions, 'clock'> {
  /** What is logged to stderr; by default `warning` and above. Not used if there is a `report`. */
  readonly logLevel?: LogThreshold;
  /**
   * Is awaited once the session has ended and before the process ends, to flush what must not be
   * lost. If it takes more than a second, the process ends without it.
   */
  readonly beforeExit?: () => Promise<void>;
}

/** How long `beforeExit` may take, milliseconds: a host kills a server soon. */
const releaseTimeoutMs = 1000;

/**
 * Serves one session over stdin and stdout, and ends the process with it.
 *
 * - SIGINT, SIGTERM and SIGHUP end the session: calls get a second to finish, or `drainTimeoutMs` of
 *   `limits`. A second signal ends the process at once.
 * - Once the session has ended, the process ends, whatever timers and sockets are left.
 * - The log goes to stderr: one JSON object per line, or lines for people at a terminal. An error of a
 *   handler has its stack and its causes. Lines past a bounded rate are counted.
 * - An exception that nobody catches and a rejection that nobody handles are logged and end the
 *   session. The exit code is then 1, otherwise 0.
 *
 * It takes the whole process over. To embed a session use `server.listen(stdio())`.
 *
 * ```ts
 * await serve(server);
 * ```
 *
 * @throws what a watcher throws; nothing has been started then
 */
export async function serve(
  server: McpServer,
  { logLevel = 'warning', beforeExit, ...options }: ServeOptions = {},
): Promise<void> {
  // The module is loaded for its server alone: what it does after the end would never come.
  if (isTaken(server)) return await new Promise(() => {});
  const log = options.report ? hostLog(options.report) : stderrLog(logLevel);
  const session = server.listen(stdio(), { ...options, report: log.report });
  const drainTimeoutMs = options.limits?.drainTimeoutMs ?? signalDrainTimeoutMs;
  const release = beforeExit && (() => released(beforeExit, log));
  await exitProcess(await served(session, log, drainTimeoutMs, release));
}

function hostLog(report: Log['report']): Log {
  return { report, close: () => Promise.resolve() };
}

function stderrLog(level: LogThreshold): Log {
  const form = process.stderr.isTTY ? humanForm : jsonForm;
  return createLog({ level, form, sink: streamSink(process.stderr) });
}

/** Never rejects: the process has to end. */
async function released(beforeExit: () => Promise<void>, log: Log): Promise<void> {
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
