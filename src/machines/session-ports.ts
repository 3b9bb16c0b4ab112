/** Events and close causes of a session. */
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

/** Event of the keepalive machine. */
export interface ClientUnresponsive {
  readonly type: 'client.unresponsive';
  /** Consecutive unanswered pings. */
  readonly failures: number;
}

/** The client sent `initialize`. */
export interface InitializeReceived {
  readonly type: 'initialize.received';
  readonly request: RelatedRequest;
  /** Parsed params. */
  readonly reading: InitializeReading;
}

/**
 * Handshake completed before the machine started: `initialize` was answered, and possibly
 * `notifications/initialized` received. There is no standalone stream yet.
 */
export interface ClientHandshaken {
  readonly type: 'client.initializeAnswered' | 'client.initialized';
  readonly client: InitializedClient;
}

/** A client whose session has no actors yet. */
export interface ActorlessClient {
  readonly client: InitializedClient;
  /** True after `notifications/initialized`. */
  readonly isInitialized: boolean;
  /** Writer of the session while it has no actors. */
  readonly writer: Behaviour<WriterEvent>;
  /**
   * Called when the session starts.
   *
   * @param router receives messages of the client
   * @param owner receives events of the transport
   */
  onServed(router: Recipient<RouterEvent>, owner: Recipient<TransportFact>): void;
  /** Called when `initialize` is answered after its upstream was opened. */
  onInitializeAnswered(): void;
}

/** Events from the actors of a session. */
export type SessionFact =
  | InitializeReceived
  | ClientHandshaken
  /** A request with its client's identity arrived: the client speaks a revision without sessions. */
  | { readonly type: 'envelope.received' }
  | { readonly type: 'initialized.received' }
  | { readonly type: 'roots.changed' }
  | CallsFact
  | ClientUnresponsive
  | TransportFact;

/** Reason for the end of a session. `failure` is a bug: an actor of the session failed. */
export type CloseCause =
  | { readonly kind: 'input-ended' }
  | { readonly kind: 'output-broken'; readonly error: unknown }
  | { readonly kind: 'shutdown'; readonly reason: string }
  /** `failures` consecutive pings were unanswered. */
  | { readonly kind: 'unresponsive'; readonly failures: number }
  | { readonly kind: 'failure'; readonly error: unknown };

/** Event with which a host ends a session. */
export interface SessionShutdown {
  readonly type: 'session.shutdown';
  /** Reason for logs and for `SessionOutput`. */
  readonly reason: string;
  /**
   * Drain time, milliseconds, if shorter than the session's own. If the session is already draining,
   * running calls are cancelled immediately.
   */
  readonly drainTimeoutMs?: number | undefined;
}

/**
 * Events of the session machine. Hosts send only {@link SessionShutdown}; all others come from the
 * session's actors and calls, or from XState if an actor fails.
 */
export type SessionEvent =
  | SessionShutdown
  | SessionFact
  | RootsNeeded
  | RootsFact
  | ErrorActorEvent;

/** A call needs the client's roots before their machine exists. */
export interface RootsNeeded {
  readonly type: 'roots.needed';
}

/** Input of a session's router. */
export interface SessionRouterInput extends RouterInput {
  readonly owner: Recipient<SessionFact>;
}

/** Events that a session emits to its host. */
export type SessionEmitted =
  | { readonly type: 'session.negotiated'; readonly client: PeerDescription }
  | { readonly type: 'session.initialized' }
  | RootsUpdated
  /** A notification that the current state does not handle. */
  | { readonly type: 'notification.ignored'; readonly notification: string }
  | { readonly type: 'session.closed'; readonly cause: CloseCause };

/** Output of a session. */
export interface SessionOutput {
  /** Reason for the end of the session. */
  readonly cause: CloseCause;
}
