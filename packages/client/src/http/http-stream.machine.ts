/**
 * One stream of events that a server sends over HTTP: the answer to one of the host's requests, or
 * the standing stream that belongs to no request. Decides whether and when it is resumed after a
 * cut, and when to give up.
 *
 * The events on the stream never pass here. The port does what the machine decides.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { assign, setup } from 'xstate';
import { delayBefore } from '../channel/restart-policy.ts';
import type { RestartTimes } from '../channel/restart-policy.ts';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

/** How a cut stream is resumed. No jitter: a stream has only one client. */
export const streamResumption: RestartTimes = {
  initialMs: 1000,
  maxMs: 30_000,
  factor: 1.5,
  jitter: 0,
  maxAttempts: 5,
  stableMs: 10_000,
};

/**
 * The shortest wait that a server may ask for with `retry` or `Retry-After`, milliseconds. A wait
 * of 0 would be a busy loop.
 */
const shortestRetryMs = 50;
const longestRetryMs = 60_000;

/** The stream itself, as its machine sees it. */
export interface HttpStreamPort {
  /** Asks the server for the rest; sends `stream.opened`, `stream.cut` or `stream.refused`. */
  resume(): void;
  /** The stream is given up although more was expected. */
  gaveUp(): void;
  /** Leaves the connection that it has: what comes on it no longer counts. */
  abandon(): void;
  /** How long to wait, milliseconds, so that not all streams are opened anew at once. */
  scatterMs(): number;
}

export interface HttpStreamInput extends InputScope {
  readonly port: HttpStreamPort;
  readonly times: RestartTimes;
  /** `resuming`: it must be opened first. */
  readonly begins: 'open' | 'resuming';
}

/** What the machine takes. */
export type HttpStreamEvent =
  /** The server sends events again. */
  | { readonly type: 'stream.opened' }
  /** It ended before everything was sent, or could not be opened this time. */
  | {
      readonly type: 'stream.cut';
      /** Whether an event has come since it was opened. */
      readonly heard: boolean;
      /** Whether the server can be asked for the rest. */
      readonly isResumable: boolean;
      /** How long the server wants us to wait, milliseconds. */
      readonly retryMs?: number | undefined;
    }
  /** The computer has slept, so that the server may have given its connection up. */
  | { readonly type: 'stream.outslept' }
  /** Everything was sent, or it is no longer needed. */
  | { readonly type: 'stream.finished' }
  /** The server refuses to send it. */
  | { readonly type: 'stream.refused' };

export interface HttpStreamContext extends HttpStreamInput {
  /** Attempts to resume it since the last event. */
  readonly attempts: number;
  readonly isResumable: boolean;
  /** The wait that the server asked for last. */
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
      // After a failed attempt our own delay counts too, if it is longer than the server's.
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
      description: 'Events come.',
      on: {
        'stream.cut': {
          target: 'cut',
          actions: { type: 'noteCut', params: ({ event }) => event },
        },
        'stream.refused': 'givenUp',
        'stream.outslept': { target: 'scattered', actions: ['forgetAttempts', 'abandon'] },
      },
      // A quiet stream that stays open counts as well as one with events.
      after: { stableTimeout: { actions: 'forgetAttempts' } },
    },
    scattered: {
      description: 'All streams of a computer that has slept are opened anew, but not all at once.',
      after: { scatterTimeout: 'resuming' },
    },
    cut: { always: [{ guard: 'isLost', target: 'givenUp' }, { target: 'waiting' }] },
    waiting: { after: { resumeTimeout: 'resuming' } },
    resuming: {
      description: 'The server is asked for the rest.',
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
    ended: { type: 'final', description: 'All was said.' },
    givenUp: {
      type: 'final',
      description: 'It was cut, and the server cannot be asked for the rest.',
      entry: 'giveUp',
    },
  },
});
