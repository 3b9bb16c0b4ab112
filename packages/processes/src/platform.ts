/**
 * What launching, watching and ending processes takes of the system. Whatever differs between systems
 * is here, once for each: `posixPlatform` and `windowsPlatform`.
 */
import type { ChildProcess } from 'node:child_process';
import type { PlatformPath } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** A command that was found. */
export interface FoundCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
}

/** A child process whose three pipes are ours. */
export type PipedChild = ChildProcess & {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

/** Asks a process to end, or ends it. */
export type EndSignal = 'SIGTERM' | 'SIGKILL';

/** Why nothing ends a process if its host is killed. */
export type Unwatched = 'no shell' | 'unusual variables';

/** A child process and all that it has started. */
export interface ChildTree {
  /** Without a pid if it could not be started. */
  readonly child: PipedChild;
  signal(signal: EndSignal): void;
  /**
   * Whether nothing is left of it.
   *
   * @throws if the system cannot tell
   */
  isEmpty(): Promise<boolean>;
  /** Lets go of what watches over it. Its pid may be that of another process from now on. */
  release(): void;
}

export interface LaunchOptions {
  /** Whether it is to end if this process is killed. */
  readonly isWatched: boolean;
  /** Whether it is a Node that is given a channel for messages (`process.send`). */
  readonly hasChannel: boolean;
}

/** A command that is ready to be started. */
export interface PreparedLaunch {
  /** Why nothing ends it if this process is killed, although that was wanted. */
  readonly unwatched?: Unwatched;
  /** Starts it now. */
  start(): ChildTree;
}

/** How a system reads the names of commands, folders and variables. */
export interface PlatformNames {
  readonly path: PlatformPath;
  /** The variables that a process inherits, or beginnings of their names with a star behind. */
  readonly inherited: readonly string[];
  /** Where a command is looked for if there is no PATH. */
  readonly defaultPath: string;
  /** Whether the first line of a script names the program that runs it. */
  readonly hasInterpreters: boolean;
  /** The same for two names of one variable. */
  variable(name: string): string;
  /** Whether a command is a path, and no name to look for. */
  isPath(command: string): boolean;
  /** The path of a folder in the PATH; undefined if the entry has none. */
  folder(entry: string): string | undefined;
  /**
   * The endings that the name of a command may have.
   *
   * @param known `PATHEXT`, if there is such a variable
   */
  endings(command: string, known: string | undefined): readonly string[];
}

/** A system. */
export interface Platform {
  readonly names: PlatformNames;
  /**
   * The folder of the pipes on which serving processes are asked what they wait for; undefined if a
   * signal asks them.
   */
  readonly pipes: string | undefined;
  /** Prepares the start of a command. */
  prepare(found: FoundCommand, options: LaunchOptions): Promise<PreparedLaunch>;
}

/** The programs of Windows that are needed, as absolute paths: the PATH is anybody's. */
export interface WindowsTools {
  /** Ends process trees. */
  readonly taskkill: string;
  /** Reads its input until that ends. */
  readonly findstr: string;
  readonly cmd: string;
  readonly powershell: string;
}
