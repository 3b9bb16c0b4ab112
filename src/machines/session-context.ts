/** Input and context of the session machine. */
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

/** Limits of a session. Defaults: `actors/limits.ts`. */
export interface SessionLimits extends KeepaliveLimits {
  /** Time for handlers and output to finish when the session ends, milliseconds. */
  readonly drainTimeoutMs: number;
  /**
   * At the end of a session: time without any output being read after which the remaining output is
   * discarded, milliseconds.
   */
  readonly stallTimeoutMs: number;
  /** Timeout of `roots/list`, milliseconds. */
  readonly rootsTimeoutMs: number;
  /** Delay before `roots/list` is retried after a failure, milliseconds; grows with each failure. */
  readonly rootsRetryMs: number;
  /** Stale answers to `roots/list` discarded before one is published as not settled. */
  readonly maxOvertakenRoots: number;
}

/** Input of the session machine. */
export interface SessionInput extends InputScope {
  /** Server description in the `initialize` result. */
  readonly server: ServerDescription;
  /** Limits of the session. */
  readonly limits: SessionLimits;
  /** True if the server description depends on an upstream that is opened per client. */
  readonly hasUpstream?: boolean | undefined;
}

/** Input of the actor that opens the upstream. */
export interface UpstreamInput extends InputScope {
  readonly received: InitializeReceived;
}

/** Server description including the upstream, or the error of opening it. */
export interface UpstreamOutcome {
  readonly server?: ServerDescription;
  readonly error?: WireError;
}

/** Logic of the actor that opens the upstream. */
export type UpstreamLogic = PromiseActorLogic<UpstreamOutcome, UpstreamInput>;

export type RootsRef = ActorRefFrom<typeof rootsMachine>;

export interface SessionContext extends SessionInput {
  readonly writer: Ref<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
  readonly router: Ref<RouterEvent>;
  readonly reader: Ref<ReaderEvent>;
  /** Roots machine; undefined until the client can be queried or a call needs the roots. */
  readonly roots: RootsRef | undefined;
  /** Client from `initialize`; set once. */
  readonly client: InitializedClient | undefined;
  /** `initialize` request that waits for the upstream. */
  readonly pendingInitialize: InitializeReceived | undefined;
  /** Last report of the roots machine. */
  readonly report: RootsReport | undefined;
  readonly cause: CloseCause | undefined;
  /** Drain time, milliseconds. */
  readonly drainTimeoutMs: number;
}
