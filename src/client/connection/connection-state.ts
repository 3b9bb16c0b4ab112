/** What a connection shows of itself: its state, its server, what happens on it. */
import type { SnapshotFrom } from 'xstate';
import type { connectionMachine } from '../../machines/connection.machine.ts';
import type { Loss } from '../../machines/connection-ports.ts';
import type { JsonObject } from '../../protocol/frames.ts';

export type { ServerProfile } from '../../machines/connection-context.ts';

/** Where a connection stands. Times are the connection's clock's milliseconds. */
export interface ConnectionState {
  /**
   * `lost`: what is left of the last channel is ended. `backoff`: it is made again in `delayMs`.
   * `failed`: it is not, until somebody asks with `reconnect()`.
   */
  readonly value: 'connecting' | 'ready' | 'lost' | 'backoff' | 'failed' | 'closing' | 'closed';
  /** When it got there, the clock's milliseconds. */
  readonly since: number;
  /** Attempts since the connection was last stable; 0 for the first. */
  readonly attempt: number;
  /** Only in `backoff`. */
  readonly delayMs?: number;
  /** Why there is no connection; in `connecting`, why the one before ended. */
  readonly loss?: Loss;
}

/** The state that a machine's state is to a host. One that has failed as an actor is closed. */
export function stateValueOf({
  value,
  status,
}: Pick<SnapshotFrom<typeof connectionMachine>, 'value' | 'status'>): ConnectionState['value'] {
  if (status === 'error' || value === 'ended') return 'closed';
  if (value === 'stopping') return 'closing';
  return typeof value === 'string' ? value : 'connecting' in value ? 'connecting' : 'ready';
}

/** What happens on a connection, beside its state. */
export type ConnectionEvent =
  | { readonly type: 'state'; readonly state: ConnectionState }
  /** The server has sent it; what concerns a list was done about it already. */
  | {
      readonly type: 'notification';
      readonly method: string;
      readonly params: JsonObject | undefined;
    }
  /** The server asks something of the host. */
  | { readonly type: 'asked'; readonly method: string; readonly params: JsonObject | undefined }
  /** It does not want the answer any more, or cannot get it. */
  | { readonly type: 'withdrawn'; readonly method: string }
  /** The server did what the protocol does not allow. `count`: how often this one, so far. */
  | {
      readonly type: 'problem';
      readonly name: string;
      readonly message: string;
      readonly count: number;
    }
  /** What the process has written to its standard error. */
  | { readonly type: 'stderr'; readonly text: string }
  /** A person is to open this URL to log in. */
  | { readonly type: 'authorize'; readonly url: string };
