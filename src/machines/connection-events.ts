/** What a connection hears, what it tells, and what an event says of a loss or of the server. */
import type { ErrorActorEvent } from 'xstate';
import { RuntimeError } from '../protocol/errors.ts';
import type { ConnectionContext, HandshakeFact, ServerProfile } from './connection-context.ts';
import type { ChannelReport, Loss } from './connection-ports.ts';
import type { TransportFact } from './peer-ports.ts';

/** What a host sends. */
export type ConnectionCommand =
  /** Begin. */
  | { readonly type: 'connection.open' }
  /** Begin anew: what is lost is not waited for, and what is there is given up. */
  | { readonly type: 'connection.reopen' }
  /** End it. */
  | { readonly type: 'connection.close' };

/** What a connection hears. A host may send a {@link ConnectionCommand}. */
export type ConnectionMachineEvent =
  | ConnectionCommand
  | ChannelReport
  | HandshakeFact
  | TransportFact
  /** Something was asked that waits for a connection. */
  | { readonly type: 'connection.wanted' }
  /** No question of the server's is being answered any more. */
  | { readonly type: 'calls.drained' }
  | ErrorActorEvent;

/** What a host hears of. */
export type ConnectionEmitted =
  | { readonly type: 'connection.ready'; readonly profile: ServerProfile }
  | { readonly type: 'connection.lost'; readonly loss: Loss }
  /** It is not made again, unless somebody asks. */
  | { readonly type: 'connection.failed'; readonly loss: Loss }
  /** Somebody else may be logged in: what is kept of the server's lists is forgotten. */
  | { readonly type: 'login.changed' }
  /**
   * A server behind a pipe has ended upon the probe, or has refused `initialize` after it: it is
   * launched once more, and greeted without a probe.
   */
  | { readonly type: 'probe.ended' }
  /** A server that was greeted has said after that that it is modern: the next launch is. */
  | { readonly type: 'era.learnt' }
  | { readonly type: 'connection.closed' };

export interface ConnectionOutput {
  /** Why it was lost last, if it ever was and was not ready since. */
  readonly loss: Loss | undefined;
}

interface Said {
  readonly context: ConnectionContext;
  readonly event: ConnectionMachineEvent;
}

/** The server's profile, from where it is known. */
export const profileFrom = {
  memory: ({ context: { era } }: Said) => ({
    profile: era.kind === 'modern' ? era.profile : undefined,
  }),
  answer: ({ event }: Said) => ({ profile: 'profile' in event ? event.profile : undefined }),
};

interface WithLoss {
  readonly loss: Loss;
}

/** What a connection is lost by. */
export const lossBy = {
  told: ({ event }: { readonly event: WithLoss }): WithLoss => event,
  timeout: ({ context: { times, lastWords } }: Said): WithLoss => {
    const stderr = lastWords?.();
    const loss = { kind: 'timeout', timeoutMs: times.connectTimeoutMs } as const;
    return { loss: stderr === undefined ? loss : { ...loss, stderr } };
  },
  /** The channel has stopped without a word. */
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
