/**
 * Where `mcp-actors doctor` and the processes that it asks meet: sockets in a directory that is this user's alone.
 *
 * The doctor listens on `<pid>-<random>.sock` before it sends the signal; the process connects to every socket that bears its pid. So a
 * process that is never asked makes nothing, and two doctors do not disturb each other.
 */
import { lstatSync, mkdirSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import type { Cause } from '../../diagnosis/causes.ts';
import type { SessionDump } from '../../server/session-dump.ts';

/** What a process answers: one JSON text, then the end of the stream. */
export interface Answer {
  readonly pid: number;
  readonly version: string;
  readonly sessions: readonly AnsweredSession[];
  /** The same for a person to read, in the process's own version's words. */
  readonly text: string;
}

export interface AnsweredSession extends SessionDump {
  /** Why nothing goes on, in plain words. */
  readonly why: readonly string[];
  /** The same for a program, in the same order. */
  readonly causes: readonly Cause[];
}

/**
 * The directory. It does not follow `TMPDIR` and the like: a host launches servers with another environment than a terminal has, and both
 * sides must find the same place.
 */
export function exchangeDirectory(user: number = userId()): string {
  return join('/tmp', `mcp-actors-${user}`);
}

/**
 * Makes the directory, or checks the one that is there.
 * @throws {Error} somebody else could read or replace what is in it
 */
export function openExchange(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (!isPrivate(directory)) {
    throw new Error(
      `${directory} is not a directory that is yours alone (mode 0700), so it is not used. Remove it; or send a process SIGUSR2 yourself: it then answers on its stderr`,
    );
  }
}

/** True for a directory, not a link to one, that this user alone may look into. False where there is none. */
export function isPrivate(directory: string): boolean {
  const found: Stats | undefined = lstatSync(directory, { throwIfNoEntry: false });
  return (
    found !== undefined &&
    found.isDirectory() &&
    found.uid === userId() &&
    (found.mode & 0o077) === 0
  );
}

/** The socket of one question. */
export function socketPath(directory: string, pid: number, question: string): string {
  return join(directory, `${pid}-${question}.sock`);
}

/** True for the names of sockets on which this process is asked. */
export function isAskedOn(name: string, pid: number): boolean {
  return name.startsWith(`${pid}-`) && name.endsWith('.sock');
}

/** Windows has no user ids, and no signal that would lead here. */
export function userId(): number {
  return process.getuid?.() ?? -1;
}
