/** What a server's session hears from its actors, and the causes of its end. */
import type { RelatedRequest } from '../protocol/frames.ts';
import type { InitializeReading } from '../protocol/initialize.ts';
import type { Ref } from './port.ts';
import type { CallsFact, RouterInput, TransportFact } from './peer-ports.ts';

/** What the keepalive machine tells the session. */
export interface ClientUnresponsive {
  readonly type: 'client.unresponsive';
  /** How many pings in a row had no answer. */
  readonly failures: number;
}

/** The client has sent `initialize`. */
export interface InitializeReceived {
  readonly type: 'initialize.received';
  readonly request: RelatedRequest;
  /** Its params, already read. */
  readonly reading: InitializeReading;
}

/** What the session hears from its actors. */
export type SessionFact =
  | InitializeReceived
  /** A request that identifies its client has come: the client is modern. */
  | { readonly type: 'envelope.received' }
  | { readonly type: 'initialized.received' }
  | { readonly type: 'roots.changed' }
  | CallsFact
  | ClientUnresponsive
  | TransportFact;

/** Why a session ended. `failure` is a bug: an actor of the session failed. */
export type CloseCause =
  | { readonly kind: 'input-ended' }
  | { readonly kind: 'output-broken'; readonly error: unknown }
  | { readonly kind: 'shutdown'; readonly reason: string }
  /** This many pings in a row had no answer, and nothing else was heard. */
  | { readonly kind: 'unresponsive'; readonly failures: number }
  | { readonly kind: 'failure'; readonly error: unknown };

/** The input of a session's router. */
export interface SessionRouterInput extends RouterInput {
  readonly owner: Ref<SessionFact>;
}
