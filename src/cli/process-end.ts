/** Ends the session when the process is told to end, and says with which exit code the process ends. */
import { constants } from 'node:os';
import type { CloseCause } from '../machines/session-ports.ts';
import type { CommandFact, Log } from './log.ts';

/** What can be ended. */
interface Endable {
  shutdown(reason: string): void;
}

export interface ProcessEnd {
  /** The exit code after a session that ended so. */
  exitCode(cause: CloseCause): number;
}

/** The part of the process that is used here. */
type Host = Pick<NodeJS.Process, 'on' | 'off' | 'exit'>;

const endingSignals = ['SIGINT', 'SIGTERM'] as const;

/** How much longer than its drain time a session may take, milliseconds, before the process ends without it. */
const graceMs = 1000;

/**
 * Listens to the process: the first signal ends the session, the second one the process at once; what nobody catches is logged
 * and ends the session.
 */
export function endWithProcess(
  session: Endable,
  log: Log,
  drainTimeoutMs: number,
  host: Host = process,
): ProcessEnd {
  const failures: unknown[] = [];

  function end(reason: string): void {
    session.shutdown(reason);
    // The session bounds its own end. Should that be what is broken, the process ends all the same.
    setTimeout(() => {
      const message = `The session has not ended ${graceMs} ms after its drain time; the process ends without it`;
      log.report({ level: 'error', name: 'process.abandoned', message } satisfies CommandFact);
      void log.close().then(() => host.exit(1));
    }, drainTimeoutMs + graceMs);
  }

  function endOnFirst(signal: NodeJS.Signals): void {
    for (const name of endingSignals) {
      host.off(name, endOnFirst);
      host.on(name, (again) => host.exit(128 + constants.signals[again]));
    }
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

  for (const name of endingSignals) host.on(name, endOnFirst);
  host.on('uncaughtException', (error) => fail(error, 'uncaught exception'));
  host.on('unhandledRejection', (reason) => fail(reason, 'unhandled rejection'));

  return {
    exitCode: (cause) => (cause.kind === 'failure' || failures.length > 0 ? 1 : 0),
  };
}
