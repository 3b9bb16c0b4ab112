/** Dump of a host's connection: state, pending requests and server description. */
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { PeerDump } from './peer-dump.ts';

/** Snapshot of a host's connection. */
export interface ConnectionDump extends PeerDump {
  /** Discriminator: `host` here, `server` for a session. */
  readonly side: 'host';
  /** The host's name for the server. */
  readonly name: string;
  /** Time in the current top-level state. */
  readonly sinceMs: number;
  /** Remaining time until the connection attempt fails, while not ready. */
  readonly leftMs?: number;
  /** Reconnect attempts since the last stable connection; 0 for the first. */
  readonly attempt: number;
  /** Total backoff before the next attempt. */
  readonly delayMs?: number;
  /** Number of opened channels: launched processes or contacted endpoints. */
  readonly launches: number;
  /** The server of the last handshake; undefined before the first. */
  readonly server?: {
    readonly name: string;
    readonly version: string;
    readonly era: 'legacy' | 'modern';
    readonly revision: string;
    readonly capabilities: JsonObject;
  };
  /** Why there is no connection, or why the last one was lost. */
  readonly loss?: { readonly kind: string; readonly message: string };
  /** Tail of the server's stderr. */
  readonly lastWords?: string;
  /** The lists that the host has requested. */
  readonly lists: readonly ListDump[];
}

/** One of the server's lists. */
export interface ListDump {
  /** Name: `tools`, `resources`, `resourceTemplates` or `prompts`. */
  readonly name: string;
  /** State of the list's machine, such as `asking.stale`. */
  readonly state: string;
  /** Number of known entries. */
  readonly entries: number;
  /** Freshness for the host; `stale` if the list may have changed since. */
  readonly known: 'asking' | 'known' | 'stale' | 'failed' | 'unsupported';
}
