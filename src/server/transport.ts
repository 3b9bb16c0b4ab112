/** A transport: how frames come in and go out, as the two actors at a session's ends. */
import type { Port } from '../machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  WriterEvent,
  WriterInput,
} from '../machines/session-ports.ts';
import type { Report } from '../protocol/facts.ts';
import type { TransportLimits } from './limits.ts';

export interface TransportActors {
  readonly reader: Port<ReaderEvent, ReaderInput>;
  readonly writer: Port<WriterEvent, WriterInput>;
}

/** Makes the two actors for one session. */
export type Transport = (options: {
  readonly limits: TransportLimits;
  readonly report: Report;
}) => TransportActors;
