/** A server as the player sees it, whatever it runs in. */

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The end of what it wrote to stderr. */
  readonly stderr?: string;
  /** Why it could not be started. */
  readonly failure?: string;
}

/** What the player hears of a server. */
export interface ServerListener {
  /** A line of its output, without the line feed. */
  line(text: string): void;
  /** It has ended, and its output is read. Called once. */
  ended(exit: Exit): void;
}

/** One run of a server. */
export interface ServerWire {
  /** Sends text as one chunk. */
  send(text: string): void;
  /** Closes its input. */
  end(): void;
  /** Ends it, whatever it does. */
  kill(): void;
  /** Moves the server's time by so many milliseconds, where it can be moved. */
  passTime?(durationMs: number): Promise<void>;
  /** Waits until nothing is left to be done that does not wait for time or for a message, where that can be known. */
  idle?(): Promise<void>;
}

/** Starts a server. */
export type Launch = (listener: ServerListener) => ServerWire;
