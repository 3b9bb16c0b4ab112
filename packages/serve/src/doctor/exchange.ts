/**
 * The meeting point of `mcp-actors doctor` and the processes that it asks: sockets in a directory
 * that only this user may read.
 *
 * The doctor listens on `<pid>-<random>.sock` before it sends the signal. The process connects to
 * every socket with its pid. So a process opens nothing until it is asked, and two doctors do not
 * disturb each other.
 *
 * The command is known by its command line. A server of one's own leaves a mark, `<pid>.serving`,
 * because the signal would end a process that does not listen for it.
 *
 * If the system has no such signal, each serving process listens on a pipe from its start.
 */
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import type { Cause } from '../../../diagnostics/src/causes.ts';
import type { HostedDump } from '../../../diagnostics/src/connections-text.ts';
import type { SessionDump } from '../../../diagnostics/src/session-dump.ts';
import type { EndpointDump } from '../../../diagnostics/src/sessions-text.ts';
import { thisPlatform } from '../../../processes/src/platforms.ts';

/** The folder of the pipes on which serving processes are asked; undefined if a signal asks them. */
export const { pipes } = thisPlatform;

/** The answer of a process: one JSON text, then the end of the stream. */
export interface DoctorAnswer {
  readonly pid: number;
  readonly version: string;
  /** Where it serves, if that is over HTTP. */
  readonly endpoint?: EndpointDump;
  /** The most urgent ones. */
  readonly sessions: readonly AnsweredSession[];
  /** Of a process that connects to servers instead of serving. */
  readonly connections?: readonly HostedDump[];
  /** How many sessions are left out. */
  readonly omitted?: number;
  /**
   * The same for people, in the words of the process's own version: everything of one session, or a
   * line for each of those that something holds up.
   */
  readonly text: string;
  /** Everything of each session, if there are several. */
  readonly whole?: string;
}

export interface AnsweredSession extends SessionDump {
  /** Why nothing goes on, in plain words: one sentence for each cause. */
  readonly why: readonly string[];
  /** The same for programs, in the same order. */
  readonly causes: readonly Cause[];
}

/**
 * The directory. It ignores `TMPDIR` and the like: a host's environment differs from a terminal's,
 * and both sides must find the same place.
 */
export function exchangeDirectory(user: number = userId()): string {
  return join('/tmp', `mcp-actors-${user}`);
}

/**
 * Creates the directory, or checks the existing one.
 *
 * @returns what prevents its use, and what to do about it; undefined if it can be used
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
 * Why a path is not a directory of which this user is the only reader; undefined if it is one. In
 * any other directory, someone else could read or replace the sockets. A link to a directory is
 * refused.
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

/** The socket's path for one question. */
export function socketPath(directory: string, pid: number, question: string): string {
  return join(directory, `${pid}-${question}.sock`);
}

/** Reads what came from a process; undefined if it is not its answer. */
export function readAnswer(pid: number, text: string): DoctorAnswer | undefined {
  try {
    const answer = JSON.parse(text) as DoctorAnswer;
    return answer.pid === pid && Array.isArray(answer.sessions) ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** One question of a doctor to a process. */
export interface DoctorQuestion {
  /** The socket that the process answers on; nobody listens there yet. */
  readonly path: string;
  /** Removes the socket, and the directory unless another doctor or server uses it. */
  close(): void;
}

/** Prepares a question, or says what prevents it, and what to do about that. */
export function openQuestion(
  pid: number,
  directory: string = exchangeDirectory(),
): DoctorQuestion | string {
  const obstacle = openExchange(directory);
  if (obstacle !== undefined) return obstacle;
  const path = socketPath(directory, pid, crypto.randomUUID());
  return {
    path,
    close: () => {
      rmSync(path, { force: true });
      try {
        removeStaleMarks(directory);
        rmdirSync(directory);
      } catch {
        // Not empty, or gone already.
      }
    },
  };
}

/** True for the names of sockets that ask this process. */
export function isAskedOn(name: string, pid: number): boolean {
  return name.startsWith(`${pid}-`) && name.endsWith('.sock');
}

const markEnd = '.serving';

/**
 * Says until the process ends that it answers SIGUSR2. If the directory cannot be used, it says
 * nothing: the signal is answered all the same.
 */
export function announce(directory: string = exchangeDirectory()): void {
  const mark = join(directory, `${process.pid}${markEnd}`);
  try {
    if (openExchange(directory) !== undefined) return;
    writeFileSync(mark, startOf('self'));
  } catch {
    // A doctor has removed the directory meanwhile, or the disk is full.
    return;
  }
  process.once('exit', () => rmSync(mark, { force: true }));
}

/**
 * When a process has announced itself, milliseconds since 1970; undefined if it has not. On Linux
 * the mark of another process that had this id before does not count.
 */
export function announcedAt(
  pid: number,
  directory: string = exchangeDirectory(),
): number | undefined {
  const mark = join(directory, `${pid}${markEnd}`);
  try {
    if (exchangeFault(directory) !== undefined) return undefined;
    if (readFileSync(mark, 'utf8') !== startOf(pid)) return undefined;
    return statSync(mark).mtimeMs;
  } catch {
    // Most processes have no mark.
    return undefined;
  }
}

/** When a process began, as Linux counts; empty elsewhere. */
function startOf(pid: number | 'self'): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
    return fields?.[19] ?? '';
  } catch {
    // It has ended meanwhile, or there is no /proc.
    return '';
  }
}

/**
 * The pipe of a serving process, if no signal can ask it.
 *
 * @param folder of the system's pipes, with the separator at its end
 */
export function pipeOf(folder: string, pid: number): string {
  return `${folder}mcp-actors-${pid}`;
}

/** The processes that have a pipe, of all users. */
export function pidsWithPipe(folder: string): readonly number[] {
  const names = readdirSync(folder).map((name) => /^mcp-actors-([1-9]\d*)$/.exec(name)?.[1]);
  return names.flatMap((pid) => (pid === undefined ? [] : Number(pid))).sort((a, b) => a - b);
}

/**
 * What a doctor writes to a pipe before it is answered. Other users of the system may read a pipe, and
 * not write to it.
 */
export const pipeQuestion = 'dump\n';

/** Removes the marks of processes that were killed. */
function removeStaleMarks(directory: string): void {
  for (const name of readdirSync(directory).filter((each) => each.endsWith(markEnd))) {
    try {
      process.kill(Number.parseInt(name, 10), 0);
    } catch {
      rmSync(join(directory, name), { force: true });
    }
  }
}

/** Windows has no user ids, but no signal that would lead here either. */
export function userId(): number {
  return process.getuid?.() ?? -1;
}
