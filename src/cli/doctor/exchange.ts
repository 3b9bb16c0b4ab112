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
import type { SessionDump } from '../../diagnosis/session-dump.ts';

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
 *
 * @returns what stands in its way, and what to do, in a sentence or two; undefined once it can be used
 */
export function openExchange(directory: string): string | undefined {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') return `${directory} cannot be made (${message}). ${byHand}`;
  }
  return exchangeFault(directory);
}

const byHand =
  'Without it, send a process SIGUSR2 yourself (kill -USR2 PID): it then answers on its stderr';

/**
 * Why a directory is not one, not a link to one, that this user alone may look into: somebody else could read or replace what is in it.
 * Undefined if it is.
 */
export function exchangeFault(directory: string, user: number = userId()): string | undefined {
  const found: Stats | undefined = lstatSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return `${directory} does not exist. ${byHand}`;
  const name = `${directory}, where processes answer,`;
  if (found.uid !== user) {
    return `${name} belongs to another user (id ${found.uid}) and is not used: that user could read or forge what is in it. Only that user or root can remove it. ${byHand}`;
  }
  if (!found.isDirectory()) {
    const kind = found.isSymbolicLink() ? 'a symbolic link' : 'a file';
    return `${name} is ${kind} and not a directory. Remove it. ${byHand}`;
  }
  if ((found.mode & 0o077) === 0) return undefined;
  return `${name} is open to other users and is not used. Remove it. ${byHand}`;
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
