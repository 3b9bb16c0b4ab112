/**
 * Keepalive of a session: pings an idle client, and ends the session after too many consecutive
 * failures.
 *
 * Ordinary messages bypass this machine. The provided `probe` knows when the client was last active
 * and sends a ping only if that was too long ago. Sessions without keepalive do not start it.
 *
 * @see MCP 2025-11-25, basic/utilities/ping
 */
import { assign, fromPromise, sendTo, setup } from 'xstate';
import type { DoneActorEvent, PromiseActorLogic } from 'xstate';
import type { Ref } from './port.ts';
import type { CorrelationEvent, InputScope } from './peer-ports.ts';
import type { ClientUnresponsive } from './session-ports.ts';

/** Limits of the keepalive. */
export interface KeepaliveLimits {
  /** Idle time before the client is pinged, milliseconds; 0 disables the keepalive. */
  readonly keepaliveIntervalMs: number;
  /** Timeout of a ping, milliseconds. */
  readonly keepaliveTimeoutMs: number;
  /** Consecutive failed pings that end the session. */
  readonly keepaliveFailures: number;
}

export interface ProbeInput extends KeepaliveLimits, InputScope {
  /** Correlation actor of the session. */
  readonly correlation: Ref<CorrelationEvent>;
}

export interface KeepaliveInput extends ProbeInput {
  /** Receives `client.unresponsive`. */
  readonly session: Ref<ClientUnresponsive>;
}

/** Outcome of a probe. */
export type ProbeOutcome =
  /** Time since the last activity of the client, milliseconds; 0 if it just answered a ping. */
  { readonly kind: 'heard'; readonly agoMs: number } | { readonly kind: 'silent' };

export interface KeepaliveContext extends KeepaliveInput {
  /** Failed pings since the last activity of the client. */
  readonly failures: number;
  /** Time until the next probe, milliseconds. */
  readonly waitMs: number;
}

const unprovided: PromiseActorLogic<ProbeOutcome, ProbeInput> = fromPromise(() =>
  Promise.reject(
    new Error(
      'keepaliveMachine needs a "probe" actor: keepaliveMachine.provide({ actors: { probe } })',
    ),
  ),
);

const outcomeOf = ({ event }: { event: DoneActorEvent<ProbeOutcome> }) => event.output;

/** The keepalive of one session. */
export const keepaliveMachine = setup({
  types: {
    input: {} as KeepaliveInput,
    context: {} as KeepaliveContext,
  },
  actors: { probe: unprovided },
  guards: {
    isAlive: (_, { kind }: ProbeOutcome) => kind === 'heard',
    isLastAllowedFailure: ({ context }) => context.failures + 1 >= context.keepaliveFailures,
  },
  delays: { listenTimeout: ({ context }) => context.waitMs },
  actions: {
    resetFailures: assign(({ context }, outcome: ProbeOutcome) => ({
      failures: 0,
      waitMs: Math.max(
        0,
        context.keepaliveIntervalMs - (outcome.kind === 'heard' ? outcome.agoMs : 0),
      ),
    })),
    countFailure: assign(({ context }) => ({
      failures: context.failures + 1,
      waitMs: context.keepaliveIntervalMs,
    })),
    notifySession: sendTo(
      ({ context }) => context.session,
      ({ context }): ClientUnresponsive => ({
        type: 'client.unresponsive',
        failures: context.failures,
      }),
    ),
  },
}).createMachine({
  id: 'keepalive',
  context: ({ input }) => ({ ...input, failures: 0, waitMs: input.keepaliveIntervalMs }),
  initial: 'listening',
  states: {
    listening: { after: { listenTimeout: 'probing' } },
    probing: {
      description: 'Checks the client, with a ping if it was idle.',
      invoke: {
        id: 'probe',
        src: 'probe',
        input: ({ context }) => context,
        onDone: [
          {
            guard: { type: 'isAlive', params: outcomeOf },
            target: 'listening',
            actions: { type: 'resetFailures', params: outcomeOf },
          },
          { guard: 'isLastAllowedFailure', target: 'unresponsive', actions: 'countFailure' },
          { target: 'listening', actions: 'countFailure' },
        ],
      },
    },
    unresponsive: { entry: 'notifySession' },
  },
});
