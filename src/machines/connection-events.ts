/**
 * The events that a connection takes and emits, and how it reads a loss or a profile from an event.
 */
import type { ErrorActorEvent } from 'xstate';
import { RuntimeError } from '../protocol/errors.ts';
import type { ConnectionContext, HandshakeFact, ServerProfile } from './connection-context.ts';
import type { ChannelReport, Loss } from './connection-ports.ts';
import type { CallsFact, TransportFact } from './peer-ports.ts';

/** What a host sends. */
export type ConnectionCommand =
  /** Open the connection. */
  | { readonly type: 'connection.open' }
  /** Open it anew, without waiting for the backoff, and give up the present channel. */
  | { readonly type: 'connection.reopen' }
  /** Close it. */
  | { readonly type: 'connection.close' };

/** The events that a connection takes. A host may send a {@link ConnectionCommand}. */
export type ConnectionMachineEvent =
  | ConnectionCommand
  | ChannelReport
  | HandshakeFact
  | TransportFact
  /** A request waits for a connection. */
  | { readonly type: 'connection.wanted' }
  /** From the router, once it takes no more requests from the server. */
  | CallsFact
  | ErrorActorEvent;

/** What a host hears. */
export type ConnectionEmitted =
  | { readonly type: 'connection.ready'; readonly profile: ServerProfile }
  | { readonly type: 'connection.lost'; readonly loss: Loss }
  /** It is not opened again unless someone asks. */
  | { readonly type: 'connection.failed'; readonly loss: Loss }
  /** Someone else may be logged in: the server's lists are forgotten. */
  | { readonly type: 'login.changed' }
  /**
   * A server behind a pipe ended, or refused `initialize`, after the probe: it is launched once
   * more and greeted without a probe.
   */
  | { readonly type: 'probe.ended' }
  /**
   * A server that was greeted in the legacy way turned out to be modern: the next launch treats it
   * so.
   */
  | { readonly type: 'era.learnt' }
  | { readonly type: 'connection.closed' };

export interface ConnectionOutput {
  /** Why it was lost last; undefined once it is ready again. */
  readonly loss: Loss | undefined;
}

interface Said {
  readonly context: ConnectionContext;
  readonly event: ConnectionMachineEvent;
}

/** Reads the server's profile from the event that brings it. */
export const profileFrom = {
  memory: ({ context: { era } }: Said) => ({
    profile: era.kind === 'modern' ? era.profile : undefined,
  }),
  answer: ({ event }: Said) => ({ profile: 'profile' in event ? event.profile : undefined }),
};

interface WithLoss {
  readonly loss: Loss;
}

/** Reads a loss from the event that brings it. */
export const lossBy = {
  told: ({ event }: { readonly event: WithLoss }): WithLoss => event,
  timeout: ({ context: { times, lastWords } }: Said): WithLoss => {
    const stderr = lastWords?.();
    const loss = { kind: 'timeout', timeoutMs: times.connectTimeoutMs } as const;
    return { loss: stderr === undefined ? loss : { ...loss, stderr } };
  },
  /** The channel has stopped without giving a reason. */
  stop: (): WithLoss => ({ loss: { kind: 'input-ended' } }),
  refusal: ({ event }: Said): WithLoss => {
    const said = 'error' in event ? event.error : undefined;
    return {
      loss: { kind: 'refused', error: said instanceof Error ? said : new Error(event.type) },
    };
  },
  failure: ({ event }: { readonly event: ErrorActorEvent }): WithLoss => ({
    loss: { kind: 'failure', error: event.error },
  }),
  noLogin: (): WithLoss => {
    const error = new Error('Nobody has logged in within the time for it');
    return { loss: { kind: 'unauthorized', error } };
  },
  otherEra: (): WithLoss => {
    const message = 'The server does not know server/discover, and the host wants a modern one';
    return { loss: { kind: 'refused', error: new RuntimeError('VERSION_UNSUPPORTED', message) } };
  },
  request: (): WithLoss => ({ loss: { kind: 'reconnect' } }),
};
