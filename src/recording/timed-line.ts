/** What every recording says of its beginning, and every line of its time and place. */
import type { JsonObject } from '../protocol/frames.ts';

/** What every first line has. */
export interface AnyHeader {
  /** The version of the format. */
  readonly recording: number;
  /** The version of mcp-actors that wrote it. */
  readonly package?: string;
  /** The platform's version, such as Node's. */
  readonly platform?: string;
  /** The clock of the session or connection when it started, milliseconds. */
  readonly at: number;
  /** The time of day when it started, ISO 8601. */
  readonly startedAt: string;
  readonly redacted: boolean;
  /** How the command was started, if the command recorded. */
  readonly launch?: JsonObject;
}

/** A line with its time; only lines written by hand have none. */
export interface Timed {
  /** The clock of the session or connection, milliseconds. */
  readonly at?: number;
}

/** A line of what came from outside. */
export interface Input extends Timed {
  /** Set if it came from code that the session was calling at that moment. */
  readonly nested?: true;
  /** Of a nested one of a connection's: which part of its channel was called. */
  readonly within?: string;
  /**
   * How many rounds of microtasks after the previous input it came, if both came in one turn of the
   * event loop.
   */
  readonly rounds?: number;
}
