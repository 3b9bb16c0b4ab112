/** Ends the session on a signal or an uncaught error, and decides the exit code. */
import { constants } from 'node:os';
import { closingChart } from '../../../src/server/closing.machine.ts';
import type { CloseCause } from '../../../src/machines/session-ports.ts';
import type { CommandFact, Log } from '../../diagnostics/src/log/log.ts';

/** The used part of a session. */
interface Endable {
  shutdown(reason: string, drainTimeoutMs: number): void;
}

export interface ProcessEnd {
  /**
   * Exit code for the cause of the session's end. Resolves when no file request is pending, or
   * after logging hanging ones.
   */
  exitCode(cause: CloseCause): Promise<number>;
}

/** The used part of `process`. */
type Host = Pick<
  NodeJS.Process,
  'emit' | 'exit' | 'getActiveResourcesInfo' | 'kill' | 'on' | 'pid' | 'removeAllListeners'
>;

/** A session that can be awaited and shut down. */
export interface Ending extends Endable {
  readonly closed: Promise<CloseCause>;
}

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Drain timeout after a signal, milliseconds. It is short because the sender will not wait. */
export const signalDrainTimeoutMs = 1000;

/** Extra time after the drain timeout before the process exits without the session. */
const graceMs = 350;

/**
 * Time to wait for pending file requests before exiting. On a busy machine checking the roots takes
 * more than a few hundredths of a second.
 */
const fileRequestTimeoutMs = 300;

/**
 * Handles signals and uncaught errors. The first signal ends the session, the second the process.
 * Uncaught errors are logged and end the session.
 *
 * @param drainTimeoutMs drain timeout of the session, milliseconds
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
    // Safety net in case the session exceeds its own timeout.
    setTimeout(() => {
      const message = `The session did not end within ${graceMs} ms after its drain timeout; exiting without it`;
      log.report({ level: 'error', name: 'process.abandoned', message } satisfies CommandFact);
      void exitProcess(1, host);
    }, drainTimeoutMs + graceMs);
  }

  // Use one listener for both signals, because Deno also calls listeners added during delivery.
  function onSignal(signal: NodeJS.Signals): void {
    if (closing.value === 'closing') {
      void exitProcess(128 + constants.signals[signal], host, signal);
      return;
    }
    closing = closingChart.next(closing, { type: 'close.begin' });
    const message = `Received ${signal}, ending the session; a second signal exits immediately`;
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
        const message = `${hanging} file requests hang; ending the process with SIGTERM, because an exit would wait for them`;
        log.report({ level: 'error', name: 'process.abandoned', message } satisfies CommandFact);
      }
      return cause.kind === 'failure' || failures.length > 0 ? 1 : 0;
    },
  };
}

/**
 * Waits for the end of the session and logs its failure.
 *
 * @param drainTimeoutMs drain timeout after a signal, milliseconds
 * @param release awaited before the exit code is decided
 * @returns the exit code, after flushing the log
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
      message: `The session failed: ${String(cause.error)}`,
      details: { error: cause.error },
    } satisfies CommandFact);
  }
  await release?.();
  const code = await end.exitCode(cause);
  await log.close();
  return code;
}

/**
 * Exits with this code. If a file request hangs, on a dead mount or a FIFO, kills the process with
 * a signal instead, because `exit` would wait for libuv's threads forever.
 */
export async function exitProcess(
  code: number,
  host: Host = process,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  if ((await hangingFileRequests(host)) > 0) {
    host.emit('exit', code);
    host.removeAllListeners(signal);
    // As pid 1 the process ignores unhandled signals and continues to `exit`.
    host.kill(host.pid, signal);
  }
  host.exit(code);
}

/** Processes whose file requests have timed out once and are not awaited again. */
const hung = new WeakSet<Host>();

/** Number of file requests that do not finish within the timeout. */
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
