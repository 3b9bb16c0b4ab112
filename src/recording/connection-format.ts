/** The lines that only the recording of a host's connection has. */
import type { HostMethod } from '../client/connection/connection-environment.ts';
import type { ConnectionSetup } from '../client/connection/connection-setup.ts';
import type { ConnectionLimits } from '../client/connection/limits.ts';
import type { Loss } from '../machines/connection-ports.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import type { AnyHeader, Input, Timed } from './timed-line.ts';

/** The first line of a recording of a host's connection. */
export interface ConnectionHeader extends Omit<ConnectionSetup, 'limits'>, AnyHeader {
  readonly side: 'host';
  readonly limits: { readonly [TName in keyof ConnectionLimits]?: number | null };
}

/** The messages of one chunk that a host has received; if one of them was none, it has `frames`. */
export type ReceivedLine = Input & { readonly received: readonly unknown[] };
/** The server has not served a request, and never will: it may be sent once more. */
export type ReturnedLine = Input & {
  /** The method. */
  readonly returned: string;
  readonly id?: RequestId;
  readonly reason: string;
  readonly code?: string;
};
/** The transport has taken what was sent; numbered in the order of what somebody awaits. */
export type TakenLine = Input & { readonly taken: number };
/** What became of a channel of a connection's. */
export type LinkLine = Input & {
  readonly link:
    | 'opened'
    | 'lost'
    | 'stopped'
    | 'challenged'
    | 'authorized'
    | 'expired'
    | 'relogged';
  readonly loss?: RecordedLoss;
};
/** The host has called a method of its connection; `withdrawn` is why it gave up. */
export type HostLine = Input & {
  readonly host: number;
  readonly calls?: HostMethod | 'watch';
  /** The arguments. */
  readonly params?: unknown;
  readonly unwritable?: string;
  readonly withdrawn?: string;
};
/** A loss as JSON holds it. */
export interface RecordedLoss extends JsonObject {
  readonly kind: Loss['kind'];
}
/** A frame that a host has sent. */
export type SentLine = Timed & { readonly sent: unknown };
/** What the host has called is settled: with this code, or without an error. */
export type SettledLine = Timed & { readonly settled: number; readonly code?: string | number };
