/**
 * Interface to the operating system for launching, watching and ending processes. All differences
 * between systems are in its two implementations, `posixPlatform` and `windowsPlatform`.
 */
import type { ChildProcess } from 'node:child_process';
import type { PlatformPath } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** A command with its resolved executable. */
export interface ResolvedCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
}

/** A child process with piped stdin, stdout and stderr. */
export type PipedChild = ChildProcess & {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

/** Signals that ask a process to end or kill it. */
export type KillSignal = 'SIGTERM' | 'SIGKILL';

/** Reasons for running a process without a watcher. */
export type UnwatchedReason = 'no shell' | 'unusual variables';

/** A child process and its descendants. */
export interface ChildTree {
  /** Has no pid if the start failed. */
  readonly child: PipedChild;
  signal(signal: KillSignal): void;
  /**
   * True if neither the child nor a descendant is alive.
   *
   * @throws if the system cannot tell
   */
  isEmpty(): Promise<boolean>;
  /** Stops the watcher. From now on the pid may belong to another process. */
  release(): void;
}

export interface LaunchOptions {
  /** True if the tree must end when this process is killed. */
  readonly isWatched: boolean;
  /** True if the child is Node and gets an IPC channel (`process.send`). */
  readonly hasChannel: boolean;
}

/** A command ready to start. */
export interface PreparedLaunch {
  /** Reason why the requested watcher is missing, if it is. */
  readonly unwatched?: UnwatchedReason;
  /** Starts the command. */
  start(): ChildTree;
}

/** Rules of a system for names of commands, directories and variables. */
export interface PlatformNames {
  readonly path: PlatformPath;
  /** Inherited variables: names, or prefixes followed by `*`. */
  readonly inherited: readonly string[];
  /** Search path if PATH is unset. */
  readonly defaultPath: string;
  /** True if the first line of a script can name its interpreter. */
  readonly hasInterpreters: boolean;
  /** Normalizes a variable's name. Two names of one variable give the same result. */
  variable(name: string): string;
  /** True if a command is a path rather than a name to look up. */
  isPath(command: string): boolean;
  /** Directory of a PATH entry; undefined to skip the entry. */
  folder(entry: string): string | undefined;
  /**
   * File extensions to try for a command's name.
   *
   * @param known value of `PATHEXT`, if set
   */
  endings(command: string, known: string | undefined): readonly string[];
}

/** An operating system. */
export interface Platform {
  readonly names: PlatformNames;
  /**
   * Directory of the named pipes through which `doctor` queries serving processes; undefined where
   * it uses a signal.
   */
  readonly pipes: string | undefined;
  /** Prepares a command for starting. */
  prepare(found: ResolvedCommand, options: LaunchOptions): Promise<PreparedLaunch>;
}

/** Absolute paths of the Windows programs used here. PATH cannot be trusted to find them. */
export interface WindowsTools {
  /** Kills process trees. */
  readonly taskkill: string;
  /** Blocks until its input ends. */
  readonly findstr: string;
  readonly cmd: string;
  readonly powershell: string;
}
