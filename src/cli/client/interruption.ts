/** Ctrl-C and its like: the first one asks for an end, the second one is the end. */
import { constants } from 'node:os';
import { exitProcess } from '../../serve/process-end.ts';

export interface Interruption {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** The shell's exit code for the signal; undefined if none came. */
  readonly exitCode: number | undefined;
  /** Listens no more. */
  stop(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Listens for signals. A second one ends this process at once, and what keeps an eye on the servers
 * ends them.
 */
export function interruptible(host: NodeJS.Process = process): Interruption {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const end = (name: NodeJS.Signals): void => {
    const code = 128 + constants.signals[name];
    if (exitCode !== undefined) void exitProcess(code, host, name);
    exitCode = code;
    controller.abort();
  };
  for (const name of signals) host.on(name, end);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    stop: () => {
      for (const name of signals) host.off(name, end);
    },
  };
}
