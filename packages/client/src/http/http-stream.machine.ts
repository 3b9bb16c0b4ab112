/**
 * One event stream from a server over HTTP: the response to a request, or the standalone stream.
 * Decides whether and when to resume it after a cut, and when to give up.
 *
 * Events on the stream bypass the machine. The port carries out the decisions.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { assign, setup } from 'xstate';
import { delayBefore } from '../channel/restart-policy.ts';
import type { RestartTimes } from '../channel/restart-policy.ts';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

/** Backoff for resuming a cut stream. No jitter: a stream has only one client. */
export const streamResumption: RestartTimes = {
  initialMs: 1000,
  maxMs: 30_000,
  factor: 1.5,
  jitter: 0,
  maxAttempts: 5,
  stableMs: 10_000,
};

/** Minimum delay accepted from `retry` or `Retry-After`, ms. A delay of 0 would be a busy loop. */
const shortestRetryMs = 50;
const longestRetryMs = 60_000;

/** The stream as seen by its machine. */
export interface HttpStreamPort {
  /**
   * Requests the rest from the server; reports `stream.opened`, `stream.cut` or `stream.refused`.
   */
  resume(): void;
  /** The stream is given up although more was expected. */
  gaveUp(): void;
  /** Drops the current connection and ignores its events. */
  abandon(): void;
  /** Random delay before reopening, ms, so that not all streams reopen at once. */
  scatterMs(): number;
}

export interface HttpStreamInput extends InputScope {
  readonly port: HttpStreamPort;
  readonly times: RestartTimes;
  /** `resuming`: the stream must be opened first. */
  readonly begins: 'open' | 'resuming';
}

/** Events of the stream machine. */
export type HttpStreamEvent =
  /** The server sends events again. */
  | { readonly type: 'stream.opened' }
  /** The stream ended before everything was sent, or failed to open this time. */
  | {
      readonly type: 'stream.cut';
      /** True if an event arrived since the stream was opened. */
      readonly heard: boolean;
      /** True if the rest can be requested from the server. */
      readonly isResumable: boolean;
      /** Delay requested by the server, ms. */
      readonly retryMs?: number | undefined;
    }
  /** The computer slept, so the server may have dropped its connection. */
  | { readonly type: 'stream.outslept' }
  /** Everything was sent, or the stream is no longer needed. */
  | { readonly type: 'stream.finished' }
  /** The server refuses to send the stream. */
  | { readonly type: 'stream.refused' };

export interface HttpStreamContext extends HttpStreamInput {
  /** Attempts to resume since the last event. */
  readonly attempts: number;
  readonly isResumable: boolean;
  /** The last delay requested by the server. */
  readonly retryMs: number | undefined;
}

type Cut = Extract<HttpStreamEvent, { readonly type: 'stream.cut' }>;

function backoffMs({ attempts, times }: HttpStreamContext): number | 'give-up' {
  return delayBefore(attempts + 1, times, () => 0);
}

export const httpStreamMachine = setup({
  types: {
    input: {} as HttpStreamInput,
    context: {} as HttpStreamContext,
    events: {} as HttpStreamEvent,
  },
  guards: {
    isOpen: ({ context }) => context.begins === 'open',
    isLost: ({ context }) => !context.isResumable || backoffMs(context) === 'give-up',
  },
  delays: {
    scatterTimeout: ({ context }) => context.port.scatterMs(),
    stableTimeout: ({ context }) => context.times.stableMs,
    resumeTimeout: ({ context }) => {
      const backoff = backoffMs(context);
      const own = backoff === 'give-up' ? context.times.maxMs : backoff;
      const { retryMs, attempts } = context;
      if (retryMs === undefined) return own;
      const asked = Math.min(Math.max(retryMs, shortestRetryMs), longestRetryMs);
      // After a failed attempt the longer of both delays applies.
      return attempts === 0 ? asked : Math.max(asked, own);
    },
  },
  actions: {
    noteCut: assign(({ context }, { heard, isResumable, retryMs }: Cut) => ({
      attempts: heard ? 0 : context.attempts,
      isResumable,
      retryMs: retryMs ?? context.retryMs,
    })),
    countAttempt: assign({ attempts: ({ context }) => context.attempts + 1 }),
    forgetAttempts: assign({ attempts: 0 }),
    abandon: ({ context }) => context.port.abandon(),
    resume: ({ context }) => context.port.resume(),
    giveUp: ({ context }) => context.port.gaveUp(),
  },
}).createMachine({
  id: 'http-stream',
  context: ({ input }) => ({ ...input, attempts: 0, isResumable: true, retryMs: undefined }),
  initial: 'beginning',
  on: { 'stream.finished': '.ended' },
  states: {
    beginning: { always: [{ guard: 'isOpen', target: 'open' }, { target: 'resuming' }] },
    open: {
      description: 'Receiving events.',
      on: {
        'stream.cut': {
          target: 'cut',
          actions: { type: 'noteCut', params: ({ event }) => event },
        },
        'stream.refused': 'givenUp',
        'stream.outslept': { target: 'scattered', actions: ['forgetAttempts', 'abandon'] },
      },
      // A quiet stream that stays open counts like one with events.
      after: { stableTimeout: { actions: 'forgetAttempts' } },
    },
    scattered: {
      description: 'After sleep, streams reopen with random delays.',
      after: { scatterTimeout: 'resuming' },
    },
    cut: { always: [{ guard: 'isLost', target: 'givenUp' }, { target: 'waiting' }] },
    waiting: { after: { resumeTimeout: 'resuming' } },
    resuming: {
      description: 'Requesting the rest from the server.',
      entry: ['countAttempt', 'resume'],
      on: {
        'stream.opened': 'open',
        'stream.cut': {
          target: 'cut',
          actions: { type: 'noteCut', params: ({ event }) => event },
        },
        'stream.refused': 'givenUp',
      },
    },
    ended: { type: 'final', description: 'The stream is complete.' },
    givenUp: {
      type: 'final',
      description: 'The stream was cut and cannot be resumed.',
      entry: 'giveUp',
    },
  },
});
