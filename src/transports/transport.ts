/** A transport: how frames come in and go out, as the two actors at a session's ends. */
import type { CallbackActorLogic } from 'xstate';
import type { Port } from '../machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  WriterEvent,
  WriterInput,
} from '../machines/session-ports.ts';
import type { Report } from '../actors/facts.ts';
import type { TransportLimits } from '../actors/limits.ts';

/** What transports report. */
export type TransportFactName =
  /** A transport of somebody else's reported an error. It ends nothing by itself. */
  | 'transport.failed'
  /** Something other than the session wrote to stdout; it went to stderr. */
  | 'output.diverted';

/** The two ends of a session. A host may give its own, as `fromCallback` logic. */
export interface TransportActors {
  /** Sends its input's `router` what comes in, and its `session` that the input has ended. */
  readonly reader: Port<ReaderEvent, ReaderInput> | CallbackActorLogic<ReaderEvent, ReaderInput>;
  /** Takes what goes out. Asked to flush, it tells its input's `session` when it has. */
  readonly writer: Port<WriterEvent, WriterInput> | CallbackActorLogic<WriterEvent, WriterInput>;
}

/** Makes the two actors for one session, when the session's own actor is made. */
export type Transport = (options: {
  readonly limits: TransportLimits;
  readonly report: Report;
}) => TransportActors;
