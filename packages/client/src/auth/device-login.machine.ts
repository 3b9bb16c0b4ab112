/**
 * Polling of a device login: a machine without a browser waits for its person's consent on another
 * device.
 *
 * The machine sees neither tokens nor codes: its port polls the authorization server and stores the
 * token.
 *
 * @see RFC 8628, sections 3.4 and 3.5
 */
import { assign, fromPromise, setup } from 'xstate';
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';

/** Response of the authorization server to one poll. */
export type DeviceAnswer =
  /** The person agreed, and the port has the token. */
  | 'granted'
  /** The person is not done. */
  | 'pending'
  /** The person is not done, and the polling interval is too short. */
  | 'slow down'
  /** No response. */
  | 'unreachable'
  /** The code expired. */
  | 'expired';

/** Polls for the token of one device login. */
export interface DevicePort {
  /** @throws the reason why no token will be issued */
  ask(signal: AbortSignal): Promise<DeviceAnswer>;
}

export interface DeviceLoginInput {
  readonly port: DevicePort;
  /** Delay before each poll, ms. */
  readonly intervalMs: number;
  /** Lifetime of the code, ms. */
  readonly expiresInMs: number;
}

export interface DeviceLoginContext extends DeviceLoginInput {
  /** In state `refused`, the port's error. */
  readonly refusal: unknown;
}

/** Increase of the interval after each `slow_down`, ms. */
const slowerByMs = 5000;

/** Longest backoff after polls without a response, ms; the server may require a longer interval. */
const longestBackoffMs = 60_000;

const ask = fromPromise<DeviceAnswer, DevicePort>(({ input, signal }) => input.ask(signal));

type Answered = { readonly event: DoneActorEvent<DeviceAnswer> };

/** Guard for one response. */
const is =
  (answer: DeviceAnswer) =>
  ({ event }: Answered): boolean =>
    event.output === answer;

/** One device login. */
export const deviceLoginMachine = setup({
  types: {
    input: {} as DeviceLoginInput,
    context: {} as DeviceLoginContext,
  },
  actors: { ask },
  delays: {
    pauseTimeout: ({ context }) => context.intervalMs,
    expiryTimeout: ({ context }) => context.expiresInMs,
  },
  actions: {
    askLessOften: assign({ intervalMs: ({ context }) => context.intervalMs + slowerByMs }),
    backOff: assign({
      intervalMs: ({ context: { intervalMs } }) =>
        Math.max(intervalMs, Math.min(2 * intervalMs, longestBackoffMs)),
    }),
    rememberRefusal: assign({ refusal: (_, refusal: unknown) => refusal }),
  },
}).createMachine({
  id: 'deviceLogin',
  context: ({ input }) => ({ ...input, refusal: undefined }),
  initial: 'open',
  states: {
    open: {
      description: 'The person may still approve the login.',
      initial: 'pausing',
      after: { expiryTimeout: 'expired' },
      states: {
        pausing: {
          description: 'Waiting while the person enters the code.',
          after: { pauseTimeout: 'asking' },
        },
        asking: {
          description: 'Polling the authorization server.',
          invoke: {
            id: 'ask',
            src: 'ask',
            input: ({ context }) => context.port,
            onDone: [
              { guard: is('granted'), target: '#deviceLogin.granted' },
              { guard: is('expired'), target: '#deviceLogin.expired' },
              { guard: is('slow down'), target: 'pausing', actions: 'askLessOften' },
              { guard: is('unreachable'), target: 'pausing', actions: 'backOff' },
              { target: 'pausing' },
            ],
            onError: {
              target: '#deviceLogin.refused',
              actions: {
                type: 'rememberRefusal',
                params: ({ event }: { readonly event: ErrorActorEvent }) => event.error,
              },
            },
          },
        },
      },
    },
    granted: { type: 'final', description: 'The port has the token.' },
    expired: { type: 'final', description: 'The code expired before the person approved.' },
    refused: { type: 'final', description: 'The authorization server refused a token.' },
  },
});
