/** Options and progress of a replay. */
import type { Report } from '../../../../src/actors/facts.ts';
import type { RootsReport } from '../../../../src/protocol/roots.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { ConnectionWatcher } from '../../../client/src/connection/watched-connection.ts';
import type { Watcher } from '../../../../src/server/session.ts';
import type { Transport } from '../../../../src/transports/transport.ts';
import type { NumberedLine } from '../recording.ts';

/** A transport with its client end. */
export interface TranscriptConnection {
  /** The server's end. */
  readonly transport: Transport;
  /** The client's end, used by the replay. */
  readonly peer: {
    sendRaw(chunk: string | Uint8Array): void;
    readonly received$: { subscribe(next: (frame: unknown) => void): unknown };
    end(): void;
  };
}

/** Options of a replay. */
export interface ReplayOptions {
  /**
   * Server whose handlers run live. Without it, the replay uses the recorded results. A handwritten transcript needs a
   * server, because it has no results.
   */
  readonly server?: McpServer;
  /** Creates the transport of a transcript, per replay. Default: in memory. */
  readonly connection?: TranscriptConnection;
  /** Timeout for live handlers, real milliseconds. Default: 5,000. */
  readonly patienceMs?: number;
  /** Watchers of the session, such as the page. */
  readonly watchers?: readonly Watcher[];
  /** Watchers of a host's connection. */
  readonly connectionWatchers?: readonly ConnectionWatcher[];
  /** Option of `listen`, for live handlers. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  /** Receives log facts of the replayed session. Default: dropped. */
  readonly report?: Report;
  /**
   * Called and awaited before each input that begins an event-loop turn, to step through a recording.
   */
  readonly before?: (input: NumberedLine) => void | Promise<void>;
  /** Called with each replayed input. */
  readonly given?: (input: NumberedLine) => void;
  /** Called with each output that matches the recording. */
  readonly matched?: (output: NumberedLine) => void;
}

/** A running replay. */
export class Playback {
  readonly connection: TranscriptConnection | undefined;
  readonly patienceMs: number;
  /** Options of `listen` for a session without live handlers. */
  readonly session: Pick<ReplayOptions, 'watchers' | 'report'>;
  /** Options of a host's connection. */
  readonly host: { readonly watchers?: readonly ConnectionWatcher[] };
  /** Options of `listen` for a session with live handlers. */
  readonly liveSession: Pick<ReplayOptions, 'watchers' | 'report' | 'onRootsUpdated'>;
  readonly #options: ReplayOptions;
  #inputs = 0;
  #outputs = 0;

  constructor(options: ReplayOptions) {
    const { connection, patienceMs = 5000, watchers, report, onRootsUpdated } = options;
    this.connection = connection;
    this.patienceMs = patienceMs;
    this.session = { ...(watchers ? { watchers } : {}), ...(report ? { report } : {}) };
    const { connectionWatchers } = options;
    this.host = connectionWatchers ? { watchers: connectionWatchers } : {};
    this.liveSession = { ...this.session, ...(onRootsUpdated ? { onRootsUpdated } : {}) };
    this.#options = options;
  }

  /** Number of replayed inputs, and of matched outputs. */
  get counts(): { readonly inputs: number; readonly outputs: number } {
    return { inputs: this.#inputs, outputs: this.#outputs };
  }

  async before(input: NumberedLine): Promise<void> {
    await this.#options.before?.(input);
  }

  given(input: NumberedLine): void {
    this.#inputs++;
    this.#options.given?.(input);
  }

  matched(output: NumberedLine): void {
    this.#outputs++;
    this.#options.matched?.(output);
  }
}
