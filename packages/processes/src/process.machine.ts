/**
 * One run of a server's process, from its launch until nothing is left of its process group.
 *
 * `child` is provided: it knows the operating system. The machine decides when the next, harsher
 * signal is due. Two regions run in parallel, because neither may wait for the other: ending the
 * group and reading the rest of the output. The child's exit does not end what it started: a
 * wrapper may be gone while the wrapped process still runs.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Shutdown"
 */
import { assign, emit, sendTo, setup } from 'xstate';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { unprovided } from '../../../src/machines/port.ts';
import type { Recipient } from '../../../src/machines/port.ts';
import type { InputScope } from '../../../src/machines/peer-ports.ts';

/** How long each step of ending a process may take, milliseconds. */
export interface StopTimes {
  /** After the end of its input. */
  readonly inputMs: number;
  /** After SIGTERM to its group. */
  readonly terminateMs: number;
  /** After SIGKILL to its group. Then the machine gives up. */
  readonly killMs: number;
  /** How long the rest of its pipes is read after its exit, milliseconds. */
  readonly drainMs: number;
}

export const defaultStopTimes: StopTimes = {
  inputMs: 2000,
  terminateMs: 2000,
  killMs: 1000,
  drainMs: 250,
};

/** The longest delay that a timer of the platform takes. */
const longestMs = 2 ** 31 - 1;

/**
 * The defaults, overridden by these.
 *
 * @throws {RangeError} the field does not exist, or a timer cannot have this length; names the
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
      throw new RangeError(`There is no ${name}.${field}; there are ${known}`);
    }
    if (typeof value === 'number' && value >= 0 && value <= longestMs) continue;
    throw new RangeError(
      `${name}.${field} must be 0 to ${longestMs} milliseconds, this is ${inspectValue(value)}`,
    );
  }
  return { ...defaultStopTimes, ...Object.fromEntries(changed) };
}

/** What the child's actor takes. */
export type ChildEvent =
  /** Close its input. */
  | { readonly type: 'input.close' }
  /** SIGTERM to its group. */
  | { readonly type: 'group.terminate' }
  /** SIGKILL to its group. */
  | { readonly type: 'group.kill' }
  /** Stop reading its output. */
  | { readonly type: 'output.cut' };

/** What the child's actor tells. */
export type ChildFact =
  | { readonly type: 'child.launched'; readonly pid: number }
  /** It could not be started. */
  | { readonly type: 'child.failed'; readonly error: unknown }
  /** It has exited. Others in its group may still run and hold its output open. */
  | ({ readonly type: 'child.exited' } & ExitStatus)
  /** All of its output is read. */
  | { readonly type: 'output.ended' }
  /** It has exited, and its group is empty. */
  | { readonly type: 'group.emptied' };

/** One of the two is null. */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: string | null;
}

/** What the machine takes. */
export type ProcessEvent =
  /** End it: close its input first, then send signals. Repeating it changes nothing. */
  | { readonly type: 'process.stop' }
  /** Kill it at once. */
  | { readonly type: 'process.kill' }
  | ChildFact;

/** What the machine emits. `process.gone` is always the last. */
export type ProcessReport =
  | { readonly type: 'process.launched'; readonly pid: number }
  | { readonly type: 'process.failed'; readonly error: unknown }
  /** The process has exited, and its output was read as far as possible. */
  | ({ readonly type: 'process.exited' } & ExitStatus)
  | {
      readonly type: 'process.gone';
      /** `unkillable`: some process of the group was still there after SIGKILL and its time. */
      readonly group: 'empty' | 'unkillable';
    };

/** The scope tells the child's actor what to start and who gets its streams. */
export interface ChildInput extends InputScope {
  readonly process: Recipient<ChildFact>;
}

export interface ProcessInput extends InputScope {
  readonly times: StopTimes;
}

export interface ProcessContext extends ProcessInput {
  /** Undefined until it has ended. */
  readonly exit: ExitStatus | undefined;
}

const rememberExit = {
  type: 'rememberExit',
  params: ({ event: { code, signal } }: { readonly event: ExitStatus }) => ({ code, signal }),
} as const;

/** One run of a process. */
export const processMachine = setup({
  types: {
    input: {} as ProcessInput,
    context: {} as ProcessContext,
    events: {} as ProcessEvent,
    emitted: {} as ProcessReport,
  },
  actors: { child: unprovided<ChildEvent, ChildInput>('child') },
  delays: {
    inputTimeout: ({ context }) => context.times.inputMs,
    terminateTimeout: ({ context }) => context.times.terminateMs,
    killTimeout: ({ context }) => context.times.killMs,
    drainTimeout: ({ context }) => context.times.drainMs,
  },
  actions: {
    closeInput: sendTo('child', { type: 'input.close' } satisfies ChildEvent),
    terminateGroup: sendTo('child', { type: 'group.terminate' } satisfies ChildEvent),
    killGroup: sendTo('child', { type: 'group.kill' } satisfies ChildEvent),
    cutOutput: sendTo('child', { type: 'output.cut' } satisfies ChildEvent),
    rememberExit: assign((_, exit: ExitStatus) => ({ exit })),
    tellLaunched: emit((_, { pid }: { readonly pid: number }) => ({
      type: 'process.launched' as const,
      pid,
    })),
    tellFailed: emit((_, { error }: { readonly error: unknown }) => ({
      type: 'process.failed' as const,
      error,
    })),
    tellExited: emit(({ context }) => ({
      type: 'process.exited' as const,
      ...(context.exit as ExitStatus),
    })),
    tellGone: emit({ type: 'process.gone', group: 'empty' }),
    tellUnkillable: emit({ type: 'process.gone', group: 'unkillable' }),
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
      description: 'The command is looked for. Nothing of it runs yet.',
      on: {
        'child.launched': {
          target: 'launched',
          actions: { type: 'tellLaunched', params: ({ event }) => event },
        },
        'child.failed': {
          target: 'gone',
          actions: [{ type: 'tellFailed', params: ({ event }) => event }, 'tellGone'],
        },
        'process.stop': { target: 'gone', actions: 'tellGone' },
        'process.kill': { target: 'gone', actions: 'tellGone' },
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
                'child.exited': { target: 'draining', actions: rememberExit },
                'output.ended': 'silent',
              },
            },
            silent: {
              description: 'It has closed its output. Most have ended then, and some go on.',
              on: { 'child.exited': { target: 'exited', actions: rememberExit } },
            },
            draining: {
              description: 'It has ended. Its pipes may hold more, or be held open by another.',
              on: { 'output.ended': 'exited' },
              after: { drainTimeout: { target: 'exited', actions: 'cutOutput' } },
            },
            exited: { type: 'final', entry: 'tellExited' },
          },
        },
        group: {
          initial: 'kept',
          states: {
            kept: {
              on: {
                'process.stop': 'ending.stdinClosed',
                'process.kill': 'ending.killed',
                // After a crash the rest of the group has no use.
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
                  after: { killTimeout: { target: '#process.gone', actions: 'tellUnkillable' } },
                },
              },
            },
            emptied: { type: 'final' },
          },
        },
      },
      onDone: { target: 'gone', actions: 'tellGone' },
    },
    gone: { type: 'final' },
  },
});
