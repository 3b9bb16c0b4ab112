/**
 * The supervisor of a server process: it holds the host's pipe, and gives the session to another process when one ends.
 *
 * `relay` is provided: it has the streams and the messages, which never pass through the machine. The machine decides
 * whether a process that has ended is followed by another one, when, and what ends the supervisor.
 */
import { assign, emit, sendTo, setup } from 'xstate';
import { unprovided } from '../../../../src/machines/port.ts';
import type { Recipient } from '../../../../src/machines/port.ts';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';
import type { ExitStatus } from '../../../processes/src/process.machine.ts';
import { delayBefore } from '../../../client/src/channel/restart-policy.ts';
import type { RestartTimes } from '../../../client/src/channel/restart-policy.ts';

/** The times of the restarts that follow the first one, which is made at once. */
export const supervisorRestart: RestartTimes = {
  initialMs: 100,
  maxMs: 5000,
  factor: 2,
  jitter: 0.2,
  maxAttempts: 7,
  stableMs: 0,
};

/** Time for a process to end after its host has left or a signal came, ms. The server has a shorter limit of its own. */
const longestDrainMs = 60_000;

/** Events of the relay. */
export type RelayEvent =
  /** Start a process. */
  | { readonly type: 'server.launch' }
  /** Repeat the handshake and the state of the session. */
  | { readonly type: 'session.restore' }
  /** Send the requests without an answer again, and then what came meanwhile; pass everything on. */
  | { readonly type: 'traffic.open' }
  /** Close the process's input once everything is passed on. */
  | { readonly type: 'input.close' }
  /** Tell the process to end. */
  | { readonly type: 'server.terminate' }
  /** End the process and its group at once. */
  | { readonly type: 'server.kill' }
  /** Answer what has no answer with an error. */
  | { readonly type: 'requests.fail' };

/** Facts of the relay. */
export type RelayFact =
  /** The process runs. `hasSession`: the host's handshake is over, and the process has not seen it. */
  | { readonly type: 'server.launched'; readonly hasSession: boolean }
  /** No process could be started. */
  | { readonly type: 'server.failed'; readonly message: string }
  /** The process has answered a request of the host: the first answer of this process. */
  | { readonly type: 'server.answered' }
  /** Nothing is left of the process and its group. */
  | ({ readonly type: 'server.gone' } & ExitStatus)
  /** The process has the state of the session. */
  | { readonly type: 'session.restored' }
  /** The process cannot have the state of the session. */
  | { readonly type: 'session.refused'; readonly message: string }
  /** The host has closed a pipe. */
  | { readonly type: 'host.left' };

export type SupervisorEvent =
  /** End the process; the second time at once. */
  { readonly type: 'supervisor.stop' } | RelayFact;

/** The scope has the host's streams and the command of the process. */
export interface RelayInput extends InputScope {
  readonly supervisor: Recipient<RelayFact>;
}

export interface SupervisorInput extends InputScope {
  readonly restart: RestartTimes;
  /** Gives a number from 0 to less than 1. */
  readonly random: () => number;
}

export interface SupervisorContext extends SupervisorInput {
  /** True once a process has answered the host. */
  readonly hasAnswered: boolean;
  readonly hasHostLeft: boolean;
  /** Ends of processes since one has answered the host. */
  readonly losses: number;
  readonly exit: ExitStatus | undefined;
  /** The reason for which the supervisor ends before its host has left. */
  readonly problem: string | undefined;
}

export interface SupervisorOutput {
  /** The last process's exit; undefined if none was started. */
  readonly exit: ExitStatus | undefined;
  readonly problem: string | undefined;
}

/** What the machine emits. */
export type SupervisorReport = {
  readonly type: 'server.lost';
  readonly exit: ExitStatus;
  readonly delayMs: number;
};

const delayOf = ({ losses, restart, random }: SupervisorContext): number | 'give-up' =>
  losses <= 1 ? 0 : delayBefore(losses - 1, restart, random);

const rememberExit = {
  type: 'rememberExit',
  params: ({ event: { code, signal } }: { readonly event: ExitStatus }) => ({ code, signal }),
} as const;

const rememberProblem = {
  type: 'rememberProblem',
  params: ({ event }: { readonly event: { readonly message: string } }) => event.message,
} as const;

export const supervisorMachine = setup({
  types: {
    input: {} as SupervisorInput,
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent,
    emitted: {} as SupervisorReport,
    output: {} as SupervisorOutput,
  },
  actors: { relay: unprovided<RelayEvent, RelayInput>('relay') },
  delays: {
    restartTimeout: ({ context }) => {
      const delayMs = delayOf(context);
      return delayMs === 'give-up' ? 0 : delayMs;
    },
    drainTimeout: longestDrainMs,
  },
  guards: {
    /** The process has ended by itself, and meant it. */
    isDeliberate: ({ context }) => context.exit?.code === 0,
    /** A server that cannot even begin says why on its stderr, and does so each time. */
    isUnable: ({ context }) => !context.hasAnswered && context.exit?.code !== null,
    isUnneeded: ({ context }) => context.hasHostLeft,
    isExhausted: ({ context }) => delayOf(context) === 'give-up',
    hasSession: (_, hasSession: boolean) => hasSession,
  },
  actions: {
    launch: sendTo('relay', { type: 'server.launch' } satisfies RelayEvent),
    restore: sendTo('relay', { type: 'session.restore' } satisfies RelayEvent),
    open: sendTo('relay', { type: 'traffic.open' } satisfies RelayEvent),
    closeInput: sendTo('relay', { type: 'input.close' } satisfies RelayEvent),
    terminate: sendTo('relay', { type: 'server.terminate' } satisfies RelayEvent),
    kill: sendTo('relay', { type: 'server.kill' } satisfies RelayEvent),
    failRequests: sendTo('relay', { type: 'requests.fail' } satisfies RelayEvent),
    rememberAnswer: assign({ hasAnswered: true, losses: 0 }),
    rememberHostLeft: assign({ hasHostLeft: true }),
    rememberExit: assign(({ context }, exit: ExitStatus) => ({
      exit,
      losses: context.losses + 1,
    })),
    rememberProblem: assign((_, problem: string) => ({ problem })),
    giveUp: assign({
      problem: ({ context: { losses, exit } }) =>
        `The server ended ${losses} times in a row without an answer, the last time ${exitText(exit)}`,
    }),
    tellLost: emit(({ context }) => {
      const delayMs = delayOf(context);
      return {
        type: 'server.lost' as const,
        exit: context.exit ?? { code: null, signal: null },
        delayMs: delayMs === 'give-up' ? 0 : delayMs,
      };
    }),
  },
}).createMachine({
  id: 'supervisor',
  context: ({ input }) => ({
    ...input,
    ...{ hasAnswered: false, hasHostLeft: false, losses: 0, exit: undefined, problem: undefined },
  }),
  invoke: {
    id: 'relay',
    src: 'relay',
    input: ({ context, self }) => ({ scope: context.scope, supervisor: self }),
  },
  initial: 'starting',
  on: {
    'server.gone': { target: '.judging', actions: rememberExit },
    'server.answered': { actions: 'rememberAnswer' },
    'server.failed': { target: '.ended', actions: rememberProblem },
  },
  output: ({ context: { exit, problem } }) => ({ exit, problem }),
  states: {
    starting: {
      description: 'A process is started. The host is read, and what it sends waits.',
      entry: 'launch',
      on: {
        'server.launched': [
          {
            guard: { type: 'hasSession', params: ({ event }) => event.hasSession },
            target: 'restoring',
          },
          { target: 'serving' },
        ],
        'host.left': { actions: 'rememberHostLeft' },
        'supervisor.stop': 'draining',
      },
    },
    restoring: {
      description: 'The process is given the handshake and the state of the session.',
      entry: 'restore',
      on: {
        'session.restored': 'serving',
        'session.refused': { target: 'killing', actions: rememberProblem },
        'host.left': { actions: 'rememberHostLeft' },
        'supervisor.stop': 'draining',
      },
    },
    serving: {
      description: 'Messages are passed on in both directions.',
      entry: 'open',
      always: { guard: 'isUnneeded', target: 'leaving' },
      on: {
        'host.left': { target: 'leaving', actions: 'rememberHostLeft' },
        'supervisor.stop': 'draining',
      },
    },
    judging: {
      description: 'The process has ended: whether another one follows.',
      always: [
        { guard: 'isUnneeded', target: 'ended' },
        { guard: 'isDeliberate', target: 'ended' },
        { guard: 'isUnable', target: 'ended' },
        { guard: 'isExhausted', target: 'ended', actions: 'giveUp' },
        { target: 'waiting' },
      ],
    },
    waiting: {
      description: 'The first restart is made at once, the next ones after longer and longer.',
      entry: 'tellLost',
      after: { restartTimeout: 'starting' },
      on: { 'host.left': 'ended', 'supervisor.stop': 'ended' },
    },
    leaving: {
      description: 'The host has left. The process ends by the end of its input.',
      entry: 'closeInput',
      on: {
        'server.gone': { target: 'ended', actions: rememberExit },
        'supervisor.stop': 'draining',
      },
      after: { drainTimeout: 'killing' },
    },
    draining: {
      description: 'A signal ends the process. Its calls get the time that it gives them.',
      entry: 'terminate',
      on: {
        'server.launched': { actions: 'terminate' },
        'server.gone': { target: 'ended', actions: rememberExit },
        'supervisor.stop': 'killing',
      },
      after: { drainTimeout: 'killing' },
    },
    killing: {
      entry: 'kill',
      on: {
        'server.launched': { actions: 'kill' },
        'server.gone': { target: 'ended', actions: rememberExit },
      },
    },
    ended: { type: 'final', entry: 'failRequests' },
  },
});

/** `by SIGKILL`, or `with exit code 1`. */
export function exitText(exit: ExitStatus | undefined): string {
  if (!exit) return 'before it began';
  return exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`;
}
