/** How a recording is played. */
import type { RootsReport } from '../../machines/roots-report.ts';
import type { Report } from '../../actors/facts.ts';
import type { McpServer } from '../../server/create-server.ts';
import type { Watcher } from '../../server/session.ts';
import type { Transport } from '../../transports/transport.ts';
import type { NumberedLine } from '../recording.ts';

/** A transport and the client's end of it. */
export interface TranscriptConnection {
  readonly transport: Transport;
  readonly peer: {
    sendRaw(chunk: string | Uint8Array): void;
    readonly received$: { subscribe(next: (frame: unknown) => void): unknown };
    end(): void;
  };
}

export interface ReplayOptions {
  /**
   * Runs the handlers of this server. Without it they do what the recorded ones did. A transcript that a person has written needs one: it
   * holds no handlers' results.
   */
  readonly server?: McpServer;
  /** A transcript's transport, fresh for each replay; by default in memory. */
  readonly connection?: TranscriptConnection;
  /** How long to wait for what live handlers give, real milliseconds; by default 5,000. */
  readonly patienceMs?: number;
  /** Those who look at the session, such as a page. */
  readonly watchers?: readonly Watcher[];
  /** As the option of `listen`; for live handlers. */
  readonly onRootsUpdated?: (report: RootsReport) => void;
  readonly report?: Report;
  /** Called before each input that begins a turn of the event loop, and waited for: to walk through a recording. */
  readonly before?: (input: NumberedLine) => void | Promise<void>;
  /** Hears of each input as the session gets it. */
  readonly given?: (input: NumberedLine) => void;
  /** Hears of each output that is as it was recorded. */
  readonly matched?: (output: NumberedLine) => void;
}

/** Options as the players get them. */
export interface Playing extends ReplayOptions {
  readonly patienceMs: number;
  readonly before: (input: NumberedLine) => Promise<void>;
  readonly given: (input: NumberedLine) => void;
  readonly matched: (output: NumberedLine) => void;
}
