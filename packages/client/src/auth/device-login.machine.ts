/**
 * When a machine without a browser asks whether its person has agreed on another device.
 *
 * The machine sees neither a token nor a code: its port asks the authorization server, and keeps what
 * it gives.
 *
 * @see RFC 8628, sections 3.4 and 3.5
 */
import { assign, fromPromise, setup } from 'xstate';
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';

/** The answer of the authorization server to the device. */
export type DeviceAnswer =
  /** The person has agreed, and the port has the token. */
  | 'granted'
  /** The person is not done. */
  | 'pending'
  /** The person is not done, and the device asks too often. */
  | 'slow down'
  /** There was no answer. */
  | 'unreachable'
  /** The code is no longer valid. */
  | 'expired';

/** What asks for the token of one device login. */
export interface DevicePort {
  /** @throws if there will be no token, with the reason */
  ask(signal: AbortSignal): Promise<DeviceAnswer>;
}

export interface DeviceLoginInput {
  readonly port: DevicePort;
  /** The pause before each request, milliseconds. */
  readonly intervalMs: number;
  /** How long the code is valid, milliseconds. */
  readonly expiresInMs: number;
}

export interface DeviceLoginContext extends DeviceLoginInput {
  /** Why there will be no token, if the state is `refused`: the error of the port. */
  readonly refusal: unknown;
}

/** By how much the pause grows each time the server says so, milliseconds. */
const slowerByMs = 5000;

/** The longest pause after requests without an answer, milliseconds; the server may want a longer one. */
const longestBackoffMs = 60_000;

const ask = fromPromise<DeviceAnswer, DevicePort>(({ input, signal }) => input.ask(signal));

type Answered = { readonly event: DoneActorEvent<DeviceAnswer> };

/** A guard: the port has given this answer. */
const is =
  (answer: DeviceAnswer) =>
  ({ event }: Answered): boolean =>
    event.output === answer;

/** One login of a person on another device. */
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
      description: 'The person may still agree.',
      initial: 'pausing',
      after: { expiryTimeout: 'expired' },
      states: {
        pausing: {
          description: 'The person is entering the code.',
          after: { pauseTimeout: 'asking' },
        },
        asking: {
          description: 'The authorization server is asked whether they have agreed.',
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
    expired: { type: 'final', description: 'Nobody has agreed in time.' },
    refused: { type: 'final', description: 'There will be no token.' },
  },
});
