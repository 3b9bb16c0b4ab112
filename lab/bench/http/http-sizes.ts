/** How much is done over HTTP. */
export interface HttpSizes {
  /** Messages before something is measured: the compiler's work is not the server's. */
  readonly warmUp: number;
  readonly messages: number;
  /** Connections of an ordinary load. */
  readonly lanes: number;
  /** Sessions of a load with many sessions, each with a connection of its own. */
  readonly sessions: number;
  /** Connections of a load with many connections. */
  readonly connections: number;
  /** Requests of one call to the client, and how many such calls. */
  readonly asked: number;
  readonly askingCalls: number;
  /** Sessions with an open stream, and notifications of one call, and how many such calls. */
  readonly streams: number;
  readonly notifications: number;
  readonly notifyingCalls: number;
  /** Sessions that begin and end. */
  readonly begun: number;
  /** Sessions whose memory is looked at. */
  readonly held: number;
  readonly largeRepeats: number;
  /** Idle sessions of a crowd, and how many of them call at once. */
  readonly crowd: number;
  readonly calling: number;
  /** Echoes while a slow reader is there, and while none is; and how often by turns. */
  readonly echoes: number;
  readonly turns: number;
}
