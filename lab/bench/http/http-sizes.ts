/** Amount of work over HTTP. */
export interface HttpSizes {
  /** Messages before measuring, to exclude JIT compilation. */
  readonly warmUp: number;
  readonly messages: number;
  /** Connections of an ordinary load. */
  readonly lanes: number;
  /** Sessions of a load with many sessions, each on its own connection. */
  readonly sessions: number;
  /** Connections of a load with many connections. */
  readonly connections: number;
  /** Requests to the client per call, and number of calls. */
  readonly asked: number;
  readonly askingCalls: number;
  /** Sessions with an open stream; notifications per call; number of calls. */
  readonly streams: number;
  readonly notifications: number;
  readonly notifyingCalls: number;
  /** Sessions begun and ended. */
  readonly begun: number;
  /** Sessions for measuring memory. */
  readonly held: number;
  readonly largeRepeats: number;
  /** Idle sessions of a crowd, and how many call at once. */
  readonly crowd: number;
  readonly calling: number;
  /** Echoes with and without a slow reader, and number of alternations. */
  readonly echoes: number;
  readonly turns: number;
}
