/** What `mcp-actors dev` and the process that has the code say to each other. */

/** What the process is told. */
export type ToCode =
  /** Load the module and what it imports. Once. */
  | { readonly type: 'code.load' }
  /** Serve one more session. */
  | { readonly type: 'session.open'; readonly session: number }
  | { readonly type: 'session.message'; readonly session: number; readonly message: object }
  | { readonly type: 'session.close'; readonly session: number }
  /** Say that it still answers. */
  | { readonly type: 'code.probe' };

/** What the process says. */
export type FromCode =
  /** It can load the module at once. */
  | { readonly type: 'code.warmed' }
  | ({ readonly type: 'code.loaded' } & LoadedCode)
  | ({ readonly type: 'code.failed' } & CodeFault)
  | { readonly type: 'session.message'; readonly session: number; readonly message: object }
  | { readonly type: 'session.closed'; readonly session: number }
  | { readonly type: 'code.answered' };

/** Code that has a server. */
export interface LoadedCode {
  /** The files that it was made of, those of packages left out. */
  readonly files: readonly string[];
  /** The tools that are machines: their calls go on from their state, in any process. */
  readonly machines: readonly string[];
}

/** Why code has no server. */
export interface CodeFault {
  readonly message: string;
  /** As far as they were read. */
  readonly files: readonly string[];
}
