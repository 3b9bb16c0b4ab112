/**
 * Client as a statechart that defines the allowed next moves. Four parallel regions: the
 * connection, a tool call, the roots, and requests cancelled by the server. Played sequences are
 * walks through this machine; it is never run as an actor.
 */
import { and, or, setup, stateIn } from 'xstate';
import type { Move } from './move.ts';

/** Testable features of a server. */
export interface ClientFeatures {
  /** Tools that may be called. */
  readonly tools: readonly string[];
  /**
   * True if the server queries the roots of clients that have them; since 2026-07-28, if a tool
   * requests input.
   */
  readonly asks: boolean;
  /**
   * True if the server cancels its own requests: with their call, on changed roots, or after a
   * timeout.
   */
  readonly withdraws: boolean;
  /** Capabilities the server declares. */
  readonly declares: {
    readonly tools: boolean;
    readonly resources: boolean;
    readonly prompts: boolean;
    readonly logging: boolean;
  };
  /** True if the revision has no handshake, so that each request identifies its client. */
  readonly stateless: boolean;
  /** Transport to the server; over HTTP, with or without session ids. */
  readonly transport: 'stdio' | 'http' | 'http-session';
  /** True if the revision has batches. */
  readonly batches: boolean;
  /** True if the server and its clock run in this process, so that time can be moved. */
  readonly movesTime: boolean;
}

interface Asked {
  readonly context: ClientFeatures;
}

/** Guards on the server's features, shared by clients of both eras. */
export const featureGuards = {
  isStdio: ({ context }: Asked) => context.transport === 'stdio',
  isHttp: ({ context }: Asked) => context.transport !== 'stdio',
  asks: ({ context }: Asked) => context.asks,
  hasLists: ({ context: { declares } }: Asked) =>
    declares.tools || declares.resources || declares.prompts,
  hasResources: ({ context }: Asked) => context.declares.resources,
  hasPrompts: ({ context }: Asked) => context.declares.prompts,
};

/** Moves available to clients of both eras while being served, without leaving the state. */
export const servedMoves = <T extends string>(target: T) =>
  ({
    list: { target, guard: 'hasLists' },
    big: { target, guard: 'hasLists' },
    'unknown-method': target,
    'unknown-notification': target,
    'bad-cursor': { target, guard: 'hasLists' },
    'bad-resource': { target, guard: 'hasResources' },
    'bad-prompt': { target, guard: 'hasPrompts' },
    malformed: target,
    invalid: target,
    'http-origin': { target, guard: 'isHttp' },
    'http-version': { target, guard: 'isHttp' },
    end: 'ended',
  }) as const;

const self = { target: 'operating' } as const;

export const clientMachine = setup({
  types: {
    input: {} as ClientFeatures,
    context: {} as ClientFeatures,
    events: {} as Move,
  },
  guards: {
    ...featureGuards,
    isFresh: stateIn({ connection: 'fresh' }),
    isBare: stateIn({ roots: 'undeclared' }),
    isOperating: stateIn({ connection: 'operating' }),
    isGreeted: stateIn({ connection: 'greeted' }),
    isCalling: or([stateIn({ call: 'running' }), stateIn({ call: 'runningZero' })]),
    isAsked: or([stateIn({ roots: 'asked' }), stateIn({ roots: 'stale' })]),
    asksNothing: ({ context }) => !context.asks,
    hasTools: ({ context }) => context.tools.length > 0,
    hasLogging: ({ context }) => context.declares.logging,
    hasBatches: ({ context }) => context.batches,
    hasSession: ({ context }) => context.transport === 'http-session',
    movesTime: ({ context }) => context.movesTime,
    withdraws: ({ context }) => context.withdraws,
  },
}).createMachine({
  id: 'client',
  type: 'parallel',
  context: ({ input }) => input,
  states: {
    connection: {
      initial: 'fresh',
      states: {
        fresh: {
          on: {
            initialize: 'greeted',
            'initialize-bare': 'greeted',
            'initialize-unknown': 'greeted',
            rush: { guard: 'isStdio', target: 'rushed' },
            early: 'fresh',
            end: 'ended',
          },
        },
        greeted: {
          description: 'initialize is sent; the server may not send requests yet.',
          on: { initialized: 'operating', end: 'ended' },
        },
        rushed: {
          description:
            'No client should do this, so nothing may follow that would be judged as well.',
          on: { end: 'ended' },
        },
        operating: {
          on: {
            ...servedMoves('operating'),
            'list-all': self,
            twins: self,
            'odd-ids': self,
            batch: { ...self, guard: 'hasBatches' },
            'bad-level': { ...self, guard: 'hasLogging' },
            'cancel-unknown': self,
            'cancel-malformed': self,
            'cancel-done': self,
            'answer-unknown': self,
            'http-second-stream': { ...self, guard: 'isHttp' },
            'http-resume': { ...self, guard: 'isHttp' },
            'http-no-session': { ...self, guard: 'hasSession' },
            'http-strange-session': { ...self, guard: 'hasSession' },
            'http-gone': { guard: 'hasSession', target: 'ended' },
            last: { guard: and(['isStdio', 'isBare', 'hasLists']), target: 'ended' },
          },
        },
        ended: {},
      },
    },
    call: {
      initial: 'none',
      states: {
        none: {
          on: {
            call: { guard: 'isOperating', target: 'running' },
            'call-zero': { guard: and(['isOperating', 'isBare']), target: 'runningZero' },
          },
        },
        running: {
          on: {
            call: { guard: 'isOperating', target: 'running' },
            cancel: { guard: 'isOperating', target: 'cancelled' },
            'pass-time': { guard: and(['isOperating', 'movesTime']), target: 'none' },
          },
        },
        runningZero: { on: { cancel: { guard: 'isOperating', target: 'cancelled' } } },
        cancelled: { on: { call: { guard: 'isOperating', target: 'running' } } },
      },
    },
    roots: {
      initial: 'undeclared',
      states: {
        undeclared: {
          on: {
            initialize: { guard: 'isFresh', target: 'declared' },
          },
        },
        declared: {
          on: {
            initialized: { guard: and(['isGreeted', 'asks']), target: 'asked' },
            'roots-changed': { guard: and(['isOperating', 'asksNothing']), target: 'declared' },
          },
        },
        asked: {
          description: 'The server waits for the roots.',
          on: {
            answer: { guard: 'isOperating', target: 'answered' },
            'answer-reversed': { guard: 'isOperating', target: 'answered' },
            refuse: { guard: 'isOperating', target: 'refused' },
            'roots-changed': { guard: 'isOperating', target: 'stale' },
            'pass-time': { guard: and(['isOperating', 'movesTime']), target: 'lapsed' },
          },
        },
        stale: {
          description: 'The roots have changed since the query.',
          on: {
            answer: { guard: 'isOperating', target: 'asked' },
            'answer-reversed': { guard: 'isOperating', target: 'asked' },
            refuse: { guard: 'isOperating', target: 'asked' },
            'roots-changed': { guard: 'isOperating', target: 'stale' },
            'pass-time': { guard: and(['isOperating', 'movesTime']), target: 'asked' },
          },
        },
        answered: {
          on: {
            'roots-changed': { guard: 'isOperating', target: 'asked' },
            'answer-twice': { guard: 'isOperating', target: 'answered' },
          },
        },
        refused: {
          on: { 'roots-changed': { guard: 'isOperating', target: 'asked' } },
        },
        lapsed: {
          description: 'The roots query has timed out.',
          on: { 'roots-changed': { guard: 'isOperating', target: 'asked' } },
        },
      },
    },
    withdrawals: {
      initial: 'none',
      states: {
        none: {
          on: {
            cancel: { guard: and(['isOperating', 'withdraws', 'isCalling']), target: 'some' },
            'roots-changed': {
              guard: and(['isOperating', 'withdraws', 'isAsked']),
              target: 'some',
            },
            'pass-time': {
              guard: and(['isOperating', 'movesTime', or(['isCalling', 'isAsked'])]),
              target: 'some',
            },
          },
        },
        some: {
          description:
            'The server may have cancelled one of its requests; an answer would be late.',
          on: { 'answer-late': { guard: 'isOperating', target: 'none' } },
        },
      },
    },
  },
});
