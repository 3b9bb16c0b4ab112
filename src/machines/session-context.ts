/** The context of a session: its bounds, its actors, its client, and why it ends. */
import type { ActorRefFrom, PromiseActorLogic } from 'xstate';
import type { WireError } from '../protocol/frames.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { InitializedClient } from '../protocol/initialize.ts';
import type { KeepaliveLimits } from './keepalive.machine.ts';
import type { Ref } from './port.ts';
import type { RootsReport } from '../protocol/roots.ts';
import type { rootsMachine } from './roots.machine.ts';
import type {
  CorrelationEvent,
  ReaderEvent,
  RouterEvent,
  InputScope,
  WriterEvent,
} from './peer-ports.ts';
import type { CloseCause, InitializeReceived } from './session-ports.ts';

/** Times and bounds of a session. The defaults are in `actors/limits.ts`. */
export interface SessionLimits extends KeepaliveLimits {
  /** How long handlers and the output may take to finish once the session ends, milliseconds. */
  readonly drainTimeoutMs: number;
  /**
   * At the end of a session: how long the client may read nothing of the remaining output,
   * milliseconds; then the session ends without it.
   */
  readonly stallTimeoutMs: number;
  /** How long the client may take to answer `roots/list`, milliseconds. */
  readonly rootsTimeoutMs: number;
  /** Delay before asking for roots again after a failure, milliseconds; grows with each failure. */
  readonly rootsRetryMs: number;
  /**
   * How many overtaken answers to `roots/list` are discarded before one is published as not
   * settled.
   */
  readonly maxOvertakenRoots: number;
}

/** What a session machine begins with. */
export interface SessionInput extends InputScope {
  /** What `initialize` is answered with. */
  readonly server: ServerDescription;
  /** Its bounds and times. */
  readonly limits: SessionLimits;
  /** True if what the server has is found out only when its client is known, by `preparation`. */
  readonly isPrepared?: boolean | undefined;
}

/** What finds out what the server has for a client. */
export interface PreparationInput extends InputScope {
  readonly received: InitializeReceived;
}

/** What came of it: what the server has, or why there is none. */
export interface PreparationOutcome {
  readonly server?: ServerDescription;
  readonly error?: WireError;
}

/** The logic of `preparation`. */
export type Preparation = PromiseActorLogic<PreparationOutcome, PreparationInput>;

export type RootsRef = ActorRefFrom<typeof rootsMachine>;

export interface SessionContext extends SessionInput {
  readonly writer: Ref<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
  readonly router: Ref<RouterEvent>;
  readonly reader: Ref<ReaderEvent>;
  /**
   * Set once a client that has declared roots can be asked for them: it has a stream of its own, or
   * a call needs them.
   */
  readonly roots: RootsRef | undefined;
  /** What the client said about itself in its `initialize`; set once. */
  readonly client: InitializedClient | undefined;
  /** The `initialize` that waits until what the server has for the client is known. */
  readonly greeting: InitializeReceived | undefined;
  /** The last report of the roots machine. */
  readonly report: RootsReport | undefined;
  readonly cause: CloseCause | undefined;
  /** How long the drain may take, milliseconds. */
  readonly drainTimeoutMs: number;
}
