/** What a server's session hears from its actors, and why it ends. */
import type { RelatedRequest } from '../protocol/frames.ts';
import type { InitializeReading } from '../protocol/initialize.ts';
import type { Ref } from './port.ts';
import type { CallsDrained, RouterInput, TransportFact } from './peer-ports.ts';

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
  /** What its params say, read once for everybody. */
  readonly reading: InitializeReading;
}

/** What the session hears from its actors. */
export type SessionFact =
  | InitializeReceived
  /** A request has come that says itself who its client is. */
  | { readonly type: 'envelope.received' }
  | { readonly type: 'initialized.received' }
  | { readonly type: 'roots.changed' }
  | CallsDrained
  | ClientUnresponsive
  | TransportFact;

/** Why a session ended. `failure` is a bug: an actor of the session's failed. */
export type CloseCause =
  | { readonly kind: 'input-ended' }
  | { readonly kind: 'output-broken'; readonly error: unknown }
  | { readonly kind: 'shutdown'; readonly reason: string }
  /** So many pings in a row had no answer, and nothing else was heard. */
  | { readonly kind: 'unresponsive'; readonly failures: number }
  | { readonly kind: 'failure'; readonly error: unknown };

/** What the router of a session is given. */
export interface SessionRouterInput extends RouterInput {
  readonly owner: Ref<SessionFact>;
}
