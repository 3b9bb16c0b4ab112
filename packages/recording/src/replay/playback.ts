/** How a recording is played: the caller's options, and a count of what was played. */
import type { Report } from '../../../../src/actors/facts.ts';
import type { RootsReport } from '../../../../src/protocol/roots.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { ConnectionWatcher } from '../../../client/src/connection/watched-connection.ts';
import type { Watcher } from '../../../../src/server/session.ts';
import type { Transport } from '../../../../src/transports/transport.ts';
import type { NumberedLine } from '../recording.ts';

/** A transport and the client's end of it. */
export interface TranscriptConnection {
  /** What the server listens on. */
  readonly transport: Transport;
  /** The recorded client's end. */
  readonly peer: {
    sendRaw(chunk: string | Uint8Array): void;
    readonly received$: { subscribe(next: (frame: unknown) => void): unknown };
    end(): void;
  };
}

/** What a replay is played into, and what it may differ in. */
export interface ReplayOptions {
  /**
   * Runs the handlers of this server; without it the replay does what the recorded handlers did. A
   * transcript written by hand needs a server, because it has no results of handlers.
   */
  readonly server?: McpServer;
  /** The transport of a transcript, a new one for each replay; by default in memory. */
  readonly connection?: TranscriptConnection;
  /** How long to wait for live handlers, real milliseconds; by default 5,000. */
  readonly patienceMs?: number;
  /** Watchers of the session, such as the page. */
  readonly watchers?: readonly Watcher[];
  /** Watchers of a host's connection. */
  readonly connectionWatchers?: readonly ConnectionWatcher[];
  /** As the option of `listen`, for live handlers. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  /** Hears what the replayed session reports. By default that is dropped. */
  readonly report?: Report;
  /**
   * Called and awaited before each input that begins a turn of the event loop: steps through a
   * recording.
   */
  readonly before?: (input: NumberedLine) => void | Promise<void>;
  /** Called with each input as the session gets it. */
  readonly given?: (input: NumberedLine) => void;
  /** Called with each output that is as it was recorded. */
  readonly matched?: (output: NumberedLine) => void;
}

/** One replay under way. */
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

  /** How many lines were given to the session, and how many of its own were as recorded. */
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
