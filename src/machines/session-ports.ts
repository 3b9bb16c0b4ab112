/** What a server's session takes and hears from its actors, and the causes of its end. */
import type { ErrorActorEvent } from 'xstate';
import type { RelatedRequest } from '../protocol/frames.ts';
import type {
  InitializedClient,
  InitializeReading,
  PeerDescription,
} from '../protocol/initialize.ts';
import type { Behaviour, Recipient } from './port.ts';
import type { RootsFact, RootsUpdated } from './roots.machine.ts';
import type {
  CallsFact,
  RouterEvent,
  RouterInput,
  TransportFact,
  WriterEvent,
} from './peer-ports.ts';

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

/**
 * The client was answered before the session began, and perhaps has said since that it is ready. It
 * has no stream of its own yet.
 */
export interface ClientGreeted {
  readonly type: 'client.greeted' | 'client.readied';
  readonly client: InitializedClient;
}

/** A client that is known before its session has actors. */
export interface ActorlessClient {
  readonly client: InitializedClient;
  /** Whether it has said that it is ready. */
  readonly isReady: boolean;
  /** Takes what the session sends while it has no actors. */
  readonly writer: Behaviour<WriterEvent>;
  /**
   * The session is served.
   * @param router takes what its client says
   * @param owner takes what its transport says
   */
  served(router: Recipient<RouterEvent>, owner: Recipient<TransportFact>): void;
  /** What the server has for it was found out, and it is answered. */
  greeted(): void;
}

/** What the session hears from its actors. */
export type SessionFact =
  | InitializeReceived
  | ClientGreeted
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

/** What a host sends to end a session. */
export interface SessionShutdown {
  readonly type: 'session.shutdown';
  /** For the log and for the output. */
  readonly reason: string;
  /**
   * A shorter drain time than the session's own, milliseconds. If the session is already draining,
   * running calls are cancelled at once.
   */
  readonly drainTimeoutMs?: number | undefined;
}

/**
 * The events that a session takes. A host may send {@link SessionShutdown}; the rest comes from the
 * session's own actors and calls, and from XState if one of them fails.
 */
export type SessionEvent =
  | SessionShutdown
  | SessionFact
  | RootsNeeded
  | RootsFact
  | ErrorActorEvent;

/** A call needs the client's roots, and there is no machine for them yet. */
export interface RootsNeeded {
  readonly type: 'roots.needed';
}

/** The input of a session's router. */
export interface SessionRouterInput extends RouterInput {
  readonly owner: Recipient<SessionFact>;
}

/** What a host hears. */
export type SessionEmitted =
  | { readonly type: 'session.negotiated'; readonly client: PeerDescription }
  | { readonly type: 'session.initialized' }
  | RootsUpdated
  /** A notification that means nothing in the present state. */
  | { readonly type: 'notification.ignored'; readonly notification: string }
  | { readonly type: 'session.closed'; readonly cause: CloseCause };

/** What a session leaves behind. */
export interface SessionOutput {
  /** Why it has ended. */
  readonly cause: CloseCause;
}
