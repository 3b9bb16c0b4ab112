/** IPC messages between `mcp-actors dev` and the code process. */

/** Messages to the code process. */
export type ToCode =
  /** Loads the module and its imports, once. */
  | { readonly type: 'code.load' }
  /** Opens a session. */
  | { readonly type: 'session.open'; readonly session: number }
  | { readonly type: 'session.message'; readonly session: number; readonly message: object }
  | { readonly type: 'session.close'; readonly session: number }
  /** Requests a sign of life. */
  | { readonly type: 'code.probe' };

/** Messages from the code process. */
export type FromCode =
  /** The process is ready to load the module. */
  | { readonly type: 'code.warmed' }
  | ({ readonly type: 'code.loaded' } & LoadedCode)
  | ({ readonly type: 'code.failed' } & CodeFault)
  | { readonly type: 'session.message'; readonly session: number; readonly message: object }
  | { readonly type: 'session.closed'; readonly session: number }
  | { readonly type: 'code.answered' };

/** Successfully loaded code. */
export interface LoadedCode {
  /** Loaded files, excluding packages. */
  readonly files: readonly string[];
  /** Tools that are machines. Their calls resume from their state in any process. */
  readonly machines: readonly string[];
}

/** Failure of loading code. */
export interface CodeFault {
  readonly message: string;
  /** Files read before the failure. */
  readonly files: readonly string[];
}
