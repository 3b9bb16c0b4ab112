/** Ends the session when the process is told to end, and decides the exit code. */
import { constants } from 'node:os';
import { closingChart } from '../../../src/server/closing.machine.ts';
import type { CloseCause } from '../../../src/machines/session-ports.ts';
import type { CommandFact, Log } from '../../diagnostics/src/log/log.ts';

/** The part of a session that is used here. */
interface Endable {
  shutdown(reason: string, drainTimeoutMs: number): void;
}

export interface ProcessEnd {
  /**
   * The exit code after a session that ended with this cause. It resolves once no file request is
   * open, or after logging that some hang.
   */
  exitCode(cause: CloseCause): Promise<number>;
}

/** The part of the process that is used here. */
type Host = Pick<
  NodeJS.Process,
  'emit' | 'exit' | 'getActiveResourcesInfo' | 'kill' | 'on' | 'pid' | 'removeAllListeners'
>;

/** The part of a session that is served here. */
export interface Ending extends Endable {
  readonly closed: Promise<CloseCause>;
}

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** How long a session may drain after a signal, milliseconds: its sender does not wait for long. */
export const signalDrainTimeoutMs = 1000;

/**
 * How much longer than its drain time a session may take, milliseconds, before the process ends
 * without it.
 */
const graceMs = 350;

/**
 * How long file requests may take to end, milliseconds, before the process ends without them. On a
 * busy machine a check of the roots takes more than a few hundredths of a second.
 */
const fileRequestTimeoutMs = 300;

/**
 * Listens to the process. The first signal ends the session, the second one the process at once.
 * Uncaught errors are logged and end the session.
 *
 * @param drainTimeoutMs how long the session may then drain, milliseconds
 */
export function endWithProcess(
  session: Endable,
  log: Log,
  drainTimeoutMs: number,
  host: Host = process,
): ProcessEnd {
  const failures: unknown[] = [];
  let closing = closingChart.initial;

  function end(reason: string): void {
    session.shutdown(reason, drainTimeoutMs);
    // The session bounds its own end. If that bound is broken, the process ends all the same.
    setTimeout(() => {
      const message = `The session has not ended ${graceMs} ms after its drain time; the process ends without it`;
      log.report({ level: 'error', name: 'process.abandoned', message } satisfies CommandFact);
      void exitProcess(1, host);
    }, drainTimeoutMs + graceMs);
  }

  // One listener for both signals: Deno gives a signal to listeners that are added while it is delivered.
  function onSignal(signal: NodeJS.Signals): void {
    if (closing.value === 'closing') {
      void exitProcess(128 + constants.signals[signal], host, signal);
      return;
    }
    closing = closingChart.next(closing, { type: 'close.begin' });
    const message = `${signal} ends the session; a second signal ends the process at once`;
    log.report({
      level: 'info',
      name: 'process.signalled',
      message,
      details: { signal },
    } satisfies CommandFact);
    end(signal);
  }

  function fail(error: unknown, origin: string): void {
    const message = `${origin}: ${error instanceof Error ? error.message : String(error)}`;
    log.report({
      level: 'error',
      name: 'process.failed',
      message,
      details: { error },
    } satisfies CommandFact);
    if (failures.push(error) === 1) end(origin);
  }

  for (const name of endingSignals) host.on(name, onSignal);
  host.on('uncaughtException', (error) => fail(error, 'uncaught exception'));
  host.on('unhandledRejection', (reason) => fail(reason, 'unhandled rejection'));

  return {
    exitCode: async (cause) => {
      const hanging = await hangingFileRequests(host);
      if (hanging > 0) {
        const message = `${hanging} file requests hang; the process ends by SIGTERM, because an exit would wait for them`;
        log.report({ level: 'error', name: 'process.abandoned', message } satisfies CommandFact);
      }
      return cause.kind === 'failure' || failures.length > 0 ? 1 : 0;
    },
  };
}

/**
 * Waits until the session has ended or the process is told to end, and logs why if that is a bug.
 *
 * @param drainTimeoutMs how long the session may drain once the process is told to end, milliseconds
 * @param release is awaited before the exit code is decided
 * @returns the exit code, once the log is flushed
 */
export async function serveToEnd(
  session: Ending,
  log: Log,
  drainTimeoutMs: number,
  release?: () => Promise<void>,
): Promise<number> {
  const end = endWithProcess(session, log, drainTimeoutMs);
  const cause = await session.closed;
  const { stdin } = process;
  if (cause.kind === 'input-ended' && !stdin.isTTY && stdin.bytesRead === 0) {
    const message =
      'stdin closed before any message: an MCP host starts this process and writes requests to its stdin';
    log.report({ level: 'warning', name: 'input.unused', message } satisfies CommandFact);
  }
  if (cause.kind === 'failure') {
    log.report({
      level: 'error',
      name: 'session.failed',
      message: `The session has failed: ${String(cause.error)}`,
      details: { error: cause.error },
    } satisfies CommandFact);
  }
  await release?.();
  const code = await end.exitCode(cause);
  await log.close();
  return code;
}

/**
 * Ends the process with this exit code. If a file request hangs, on a dead mount or on a FIFO, a
 * signal ends the process instead, because an exit would wait for libuv's threads forever.
 */
export async function exitProcess(
  code: number,
  host: Host = process,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  if ((await hangingFileRequests(host)) > 0) {
    host.emit('exit', code);
    host.removeAllListeners(signal);
    // A container's first process never gets a signal without a listener: it goes on to the exit.
    host.kill(host.pid, signal);
  }
  host.exit(code);
}

/** The processes whose file requests have had their time: nobody waits for those again. */
const hung = new WeakSet<Host>();

/** How many file requests do not end within a short time. */
async function hangingFileRequests(host: Host): Promise<number> {
  for (let waitedMs = 0; waitedMs < fileRequestTimeoutMs && !hung.has(host); waitedMs += 10) {
    if (fileRequests(host) === 0) return 0;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const hanging = fileRequests(host);
  if (hanging > 0) hung.add(host);
  return hanging;
}

function fileRequests(host: Host): number {
  return host.getActiveResourcesInfo().filter((name) => name.startsWith('FSReq')).length;
}
