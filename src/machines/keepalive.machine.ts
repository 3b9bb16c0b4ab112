/**
 * Whether the client is still there: it is pinged after a quiet while, and too many silences in a
 * row end the session.
 *
 * Ordinary messages never come here. `probe` is provided: it knows when the client was last heard,
 * and asks only if that is too long ago. A session without keepalive does not have this machine.
 *
 * @see MCP 2025-11-25, basic/utilities/ping
 */
import { assign, fromPromise, sendTo, setup } from 'xstate';
import type { DoneActorEvent, PromiseActorLogic } from 'xstate';
import type { Ref } from './port.ts';
import type { CorrelationEvent, InputScope } from './peer-ports.ts';
import type { ClientUnresponsive } from './session-ports.ts';

/** Times and bounds of the keepalive. */
export interface KeepaliveLimits {
  /** How long the client may be quiet before it is pinged, milliseconds; 0 = never. */
  readonly keepaliveIntervalMs: number;
  /** How long its answer may take, milliseconds. */
  readonly keepaliveTimeoutMs: number;
  /** How many silences in a row end the session. */
  readonly keepaliveFailures: number;
}

export interface ProbeInput extends KeepaliveLimits, InputScope {
  /** The correlation actor of the session. */
  readonly correlation: Ref<CorrelationEvent>;
}

export interface KeepaliveInput extends ProbeInput {
  /** Gets `client.unresponsive`. */
  readonly session: Ref<ClientUnresponsive>;
}

/** The outcome of a probe. */
export type ProbeOutcome =
  /** How long ago it was heard, milliseconds: 0 if it has just answered. */
  { readonly kind: 'heard'; readonly agoMs: number } | { readonly kind: 'silent' };

export interface KeepaliveContext extends KeepaliveInput {
  /** Silences since the client was last heard. */
  readonly failures: number;
  /** How long to listen before the next probe, milliseconds. */
  readonly listenMs: number;
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
    isHeard: (_, { kind }: ProbeOutcome) => kind === 'heard',
    isLastSilence: ({ context }) => context.failures + 1 >= context.keepaliveFailures,
  },
  delays: { listenTimeout: ({ context }) => context.listenMs },
  actions: {
    rememberHeard: assign(({ context }, outcome: ProbeOutcome) => ({
      failures: 0,
      listenMs: Math.max(
        0,
        context.keepaliveIntervalMs - (outcome.kind === 'heard' ? outcome.agoMs : 0),
      ),
    })),
    countSilence: assign(({ context }) => ({
      failures: context.failures + 1,
      listenMs: context.keepaliveIntervalMs,
    })),
    tellSession: sendTo(
      ({ context }) => context.session,
      ({ context }): ClientUnresponsive => ({
        type: 'client.unresponsive',
        failures: context.failures,
      }),
    ),
  },
}).createMachine({
  id: 'keepalive',
  context: ({ input }) => ({ ...input, failures: 0, listenMs: input.keepaliveIntervalMs }),
  initial: 'listening',
  states: {
    listening: { after: { listenTimeout: 'probing' } },
    probing: {
      description: 'One look at the client: if it was quiet, one ping in flight.',
      invoke: {
        id: 'probe',
        src: 'probe',
        input: ({ context }) => context,
        onDone: [
          {
            guard: { type: 'isHeard', params: outcomeOf },
            target: 'listening',
            actions: { type: 'rememberHeard', params: outcomeOf },
          },
          { guard: 'isLastSilence', target: 'unresponsive', actions: 'countSilence' },
          { target: 'listening', actions: 'countSilence' },
        ],
      },
    },
    unresponsive: { entry: 'tellSession' },
  },
});
