/** Stops a command on a signal, and immediately on a second one. */
import { constants } from 'node:os';

export interface Interruption {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Exit code for the signal, as in shells; undefined before a signal. */
  readonly exitCode: number | undefined;
  /** Stops listening. */
  stop(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Listens for signals.
 *
 * @param again called for each signal after the first
 */
export function interruptible(again: (code: number, signal: NodeJS.Signals) => void): Interruption {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const end = (name: NodeJS.Signals): void => {
    const code = 128 + constants.signals[name];
    if (exitCode !== undefined) again(code, name);
    exitCode = code;
    controller.abort();
  };
  for (const name of signals) process.on(name, end);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    stop: () => {
      for (const name of signals) process.off(name, end);
    },
  };
}
