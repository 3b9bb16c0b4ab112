/** The dump of a host's connection: its state and why, pending requests, what is known of the server. */
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { PeerDump } from './peer-dump.ts';

/** A host's connection at one moment. */
export interface ConnectionDump extends PeerDump {
  /** Tells it from a server's session. */
  readonly side: 'host';
  /** What the host calls the server. */
  readonly name: string;
  /** The time since the connection has come to where it stands, inner states not counted. */
  readonly sinceMs: number;
  /** The time until it is given up, while it is not ready yet. */
  readonly leftMs?: number;
  /** New attempts since it was last stable; 0 for the first. */
  readonly attempt: number;
  /** Of a wait before the next attempt, as a whole. */
  readonly delayMs?: number;
  /** Channels that were opened: processes that were launched, endpoints that were tried. */
  readonly launches: number;
  /** The server, once it has introduced itself; then that of the last handshake. */
  readonly server?: {
    readonly name: string;
    readonly version: string;
    readonly era: 'legacy' | 'modern';
    readonly revision: string;
    readonly capabilities: JsonObject;
  };
  /** Why there is no connection, or why the last one ended. */
  readonly loss?: { readonly kind: string; readonly message: string };
  /** The last that the server's processes have written to their standard error. */
  readonly lastWords?: string;
  /** The lists that were wanted. */
  readonly lists: readonly ListDump[];
}

/** One of the server's lists. */
export interface ListDump {
  /** Which list: `tools`, `resources`, `resourceTemplates` or `prompts`. */
  readonly name: string;
  /** Of its chart, such as `asking.stale`. */
  readonly state: string;
  /** How many entries are known. */
  readonly entries: number;
  /** What the host sees: `stale`, if they may have changed since the server gave them. */
  readonly known: 'asking' | 'known' | 'stale' | 'failed' | 'unsupported';
}
