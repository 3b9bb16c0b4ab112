/**
 * One run of a server's process, from launch until its process group is empty.
 *
 * The `child` actor is provided and knows the operating system. The machine decides when to send
 * the next, harsher signal. Two parallel regions keep ending the group and draining the output
 * independent. The exit of the child does not end its descendants: a wrapper may exit while the
 * wrapped process still runs.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Shutdown"
 */
import { assign, emit, sendTo, setup } from 'xstate';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { unprovided } from '../../../src/machines/port.ts';
import type { Recipient } from '../../../src/machines/port.ts';
import type { InputScope } from '../../../src/machines/peer-ports.ts';

/** Timeouts of the steps of ending a process, milliseconds. */
export interface StopTimes {
  /** From closing stdin to SIGTERM. Default: 2000. */
  readonly inputMs: number;
  /** From SIGTERM to SIGKILL of the group. Default: 2000. */
  readonly terminateMs: number;
  /** From SIGKILL until the group counts as unkillable. Default: 1000. */
  readonly killMs: number;
  /** Time to read remaining output after the exit. Default: 250. */
  readonly drainMs: number;
}

export const defaultStopTimes: StopTimes = {
  inputMs: 2000,
  terminateMs: 2000,
  killMs: 1000,
  drainMs: 250,
};

/** Maximum delay of Node's timers. */
const longestMs = 2 ** 31 - 1;

/**
 * Merges overrides into the defaults.
 *
 * @throws {RangeError} if a field is unknown or its value is not a valid timer delay; names the
 *   field
 */
export function stopTimesWith(
  given: { readonly [K in keyof StopTimes]?: number | undefined } | undefined,
  name = 'stop',
): StopTimes {
  const changed = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  for (const [field, value] of changed) {
    if (!Object.hasOwn(defaultStopTimes, field)) {
      const known = Object.keys(defaultStopTimes).join(', ');
      throw new RangeError(`Unknown field ${name}.${field}; known fields: ${known}`);
    }
    if (typeof value === 'number' && value >= 0 && value <= longestMs) continue;
    throw new RangeError(
      `${name}.${field} must be 0 to ${longestMs} milliseconds, got ${inspectValue(value)}`,
    );
  }
  return { ...defaultStopTimes, ...Object.fromEntries(changed) };
}

/** Commands to the `child` actor. */
export type ChildCommand =
  /** Closes stdin. */
  | { readonly type: 'input.close' }
  /** Sends SIGTERM to the group. */
  | { readonly type: 'group.terminate' }
  /** Sends SIGKILL to the group. */
  | { readonly type: 'group.kill' }
  /** Stops reading the output. */
  | { readonly type: 'output.cut' };

/** Events from the `child` actor. */
export type ChildEvent =
  | { readonly type: 'child.launched'; readonly pid: number }
  /** The child could not be started. */
  | { readonly type: 'child.failed'; readonly error: unknown }
  /** The child has exited. Other processes of its group may still run and hold its output open. */
  | ({ readonly type: 'child.exited' } & ExitStatus)
  /** All output was read. */
  | { readonly type: 'output.ended' }
  /** The child has exited and its group is empty. */
  | { readonly type: 'group.emptied' };

/** Exit of a process. Either `code` or `signal` is null. */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Events of the machine. */
export type ProcessEvent =
  /** Ends the process: closes stdin first, then sends signals. Repeating it has no effect. */
  | { readonly type: 'process.stop' }
  /** Kills the process immediately. */
  | { readonly type: 'process.kill' }
  | ChildEvent;

/** Events emitted by the machine. `process.gone` is always the last. */
export type ProcessEmitted =
  | { readonly type: 'process.launched'; readonly pid: number }
  | { readonly type: 'process.failed'; readonly error: unknown }
  /** The process has exited and its output was read as far as possible. */
  | ({ readonly type: 'process.exited' } & ExitStatus)
  | {
      readonly type: 'process.gone';
      /**
       * `unkillable`: processes of the group were still alive when `killMs` had passed after
       * SIGKILL.
       */
      readonly group: 'empty' | 'unkillable';
    };

/** Input of the `child` actor. The scope holds the command and the consumers of its streams. */
export interface ChildInput extends InputScope {
  readonly process: Recipient<ChildEvent>;
}

export interface ProcessInput extends InputScope {
  readonly times: StopTimes;
}

export interface ProcessContext extends ProcessInput {
  /** Undefined until the process has exited. */
  readonly exit: ExitStatus | undefined;
}

const storeExit = {
  type: 'storeExit',
  params: ({ event: { code, signal } }: { readonly event: ExitStatus }) => ({ code, signal }),
} as const;

/** Machine of one process. */
export const processMachine = setup({
  types: {
    input: {} as ProcessInput,
    context: {} as ProcessContext,
    events: {} as ProcessEvent,
    emitted: {} as ProcessEmitted,
  },
  actors: { child: unprovided<ChildCommand, ChildInput>('child') },
  delays: {
    inputTimeout: ({ context }) => context.times.inputMs,
    terminateTimeout: ({ context }) => context.times.terminateMs,
    killTimeout: ({ context }) => context.times.killMs,
    drainTimeout: ({ context }) => context.times.drainMs,
  },
  actions: {
    closeInput: sendTo('child', { type: 'input.close' } satisfies ChildCommand),
    terminateGroup: sendTo('child', { type: 'group.terminate' } satisfies ChildCommand),
    killGroup: sendTo('child', { type: 'group.kill' } satisfies ChildCommand),
    cutOutput: sendTo('child', { type: 'output.cut' } satisfies ChildCommand),
    storeExit: assign((_, exit: ExitStatus) => ({ exit })),
    emitLaunched: emit((_, { pid }: { readonly pid: number }) => ({
      type: 'process.launched' as const,
      pid,
    })),
    emitFailed: emit((_, { error }: { readonly error: unknown }) => ({
      type: 'process.failed' as const,
      error,
    })),
    emitExited: emit(({ context }) => ({
      type: 'process.exited' as const,
      ...(context.exit as ExitStatus),
    })),
    emitGone: emit({ type: 'process.gone', group: 'empty' }),
    emitUnkillable: emit({ type: 'process.gone', group: 'unkillable' }),
  },
}).createMachine({
  id: 'process',
  context: ({ input }) => ({ ...input, exit: undefined }),
  invoke: {
    id: 'child',
    src: 'child',
    input: ({ context, self }) => ({ scope: context.scope, process: self }),
  },
  initial: 'spawning',
  states: {
    spawning: {
      description: 'The command is being located. No process runs yet.',
      on: {
        'child.launched': {
          target: 'launched',
          actions: { type: 'emitLaunched', params: ({ event }) => event },
        },
        'child.failed': {
          target: 'gone',
          actions: [{ type: 'emitFailed', params: ({ event }) => event }, 'emitGone'],
        },
        'process.stop': { target: 'gone', actions: 'emitGone' },
        'process.kill': { target: 'gone', actions: 'emitGone' },
      },
    },
    launched: {
      type: 'parallel',
      states: {
        child: {
          initial: 'running',
          states: {
            running: {
              on: {
                'child.exited': { target: 'draining', actions: storeExit },
                'output.ended': 'silent',
              },
            },
            silent: {
              description: 'The process has closed its output. Most then exit, some keep running.',
              on: { 'child.exited': { target: 'exited', actions: storeExit } },
            },
            draining: {
              description:
                'The process has exited. Its pipes may hold more output, or another process may keep them open.',
              on: { 'output.ended': 'exited' },
              after: { drainTimeout: { target: 'exited', actions: 'cutOutput' } },
            },
            exited: { type: 'final', entry: 'emitExited' },
          },
        },
        group: {
          initial: 'kept',
          states: {
            kept: {
              on: {
                'process.stop': 'ending.stdinClosed',
                'process.kill': 'ending.killed',
                // After a crash the rest of the group is useless.
                'child.exited': 'ending.terminated',
              },
            },
            ending: {
              initial: 'stdinClosed',
              on: { 'process.kill': '.killed', 'group.emptied': 'emptied' },
              states: {
                stdinClosed: { entry: 'closeInput', after: { inputTimeout: 'terminated' } },
                terminated: { entry: 'terminateGroup', after: { terminateTimeout: 'killed' } },
                killed: {
                  entry: 'killGroup',
                  // The kill timer is already running.
                  on: { 'process.kill': {} },
                  after: { killTimeout: { target: '#process.gone', actions: 'emitUnkillable' } },
                },
              },
            },
            emptied: { type: 'final' },
          },
        },
      },
      onDone: { target: 'gone', actions: 'emitGone' },
    },
    gone: { type: 'final' },
  },
});
