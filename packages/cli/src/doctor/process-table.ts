/**
 * Serving processes of this user. SIGUSR2 kills a process that does not handle it, so each
 * candidate is checked first: it must run our command or have announced itself, and must handle the
 * signal or be old enough to do so.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { isCommandName } from '../command.ts';
import type { CommandName } from '../command.ts';
import { doctorExchange } from 'mcp-actors/internal';

export interface ServingProcess {
  readonly pid: number;
  /** Arguments after the command's name; empty for a custom server. */
  readonly args: readonly string[];
  /** True if it handles SIGUSR2. */
  readonly listens: boolean;
  /** State as in `ps`: `R` running, `S` sleeping, `T` stopped; undefined if unknown. */
  readonly activity?: string;
}

/**
 * Age from which a process is assumed to handle SIGUSR2, seconds, because `ps` does not show
 * handlers.
 */
const settledAfterSeconds = 3;

/** Serving processes of this user except this one, sorted by pid. */
export function servingProcesses(): readonly ServingProcess[] {
  const found = process.platform === 'linux' ? fromProc() : fromPs();
  return found.filter(({ pid }) => pid !== process.pid).sort((a, b) => a.pid - b.pid);
}

/** Serving process with this pid, or undefined. */
export function servingProcess(pid: number): ServingProcess | undefined {
  if (process.platform === 'linux') return readProc(pid);
  return servingProcesses().find((found) => found.pid === pid);
}

/** Reads the processes from `/proc` on Linux. */
function fromProc(): readonly ServingProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProc(Number(name)) ?? []);
}

function readProc(pid: number): ServingProcess | undefined {
  try {
    if (statSync(`/proc/${pid}`).uid !== process.getuid?.()) return undefined;
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    const isAnnounced = doctorExchange.announcedAt(pid) !== undefined;
    const args = isAnnounced ? [] : serveArguments(argv, readlinkSync(`/proc/${pid}/cwd`));
    if (!args) return undefined;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const caught = BigInt(`0x${/^SigCgt:\s*([\da-f]+)$/m.exec(status)?.[1] ?? '0'}`);
    const listens = ((caught >> BigInt(constants.signals.SIGUSR2 - 1)) & 1n) === 1n;
    const activity = /^State:\s*(\w)/m.exec(status)?.[1];
    return { pid, args, listens, ...(activity === undefined ? {} : { activity }) };
  } catch {
    // The process has ended or is not readable.
    return undefined;
  }
}

/**
 * Reads the processes from `ps` on other Unix systems. Its lines do not separate arguments, so a
 * path with a space is not recognized.
 */
export function fromPs(table = writtenByPs()): readonly ServingProcess[] {
  return table.split('\n').flatMap((line) => {
    const [pid, uid, state = '', age = '', ...argv] = line.trim().split(/\s+/);
    if (Number(uid) !== process.getuid?.()) return [];
    const seconds = secondsOf(age);
    // A mark older than the process belongs to a former one.
    const isAnnounced =
      (doctorExchange.announcedAt(Number(pid)) ?? 0) > Date.now() - (seconds + 1) * 1000;
    const args = isAnnounced ? [] : serveArguments(argv, undefined);
    if (!args) return [];
    const listens = isAnnounced || seconds >= settledAfterSeconds;
    return [{ pid: Number(pid), args, listens, activity: state.slice(0, 1) }];
  });
}

function writtenByPs(): string {
  const columns = ['pid=', 'uid=', 'state=', 'etime=', 'args='].flatMap((column) => ['-o', column]);
  return execFileSync('ps', ['-A', '-ww', ...columns], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
}

/** Reads `[[days-]hours:]minutes:seconds`. */
export function secondsOf(age: string): number {
  const [days, time] = age.includes('-') ? age.split('-') : ['0', age];
  return (
    (time ?? '').split(':').reduce((sum, part) => sum * 60 + Number(part), 0) +
    Number(days) * 86_400
  );
}

/** Options of runtimes that take the next argument as their value. */
const valued = new Set([
  '-r',
  '--require',
  '--import',
  '--loader',
  '--experimental-loader',
  '-C',
  '--conditions',
  '--env-file',
  '--env-file-if-exists',
  '--title',
]);

/**
 * Arguments of `mcp-actors serve` or of a command that connects to servers; undefined for any other
 * command line.
 *
 * @param argv words of the command line, starting with the executable
 * @param cwd working directory of the process, if known
 */
export function serveArguments(
  argv: readonly string[],
  cwd: string | undefined,
): readonly string[] | undefined {
  const program = basename(argv[0] ?? '');
  const hasRun = /^(bun|deno)$/i.test(program);
  // An editor may have the script as its argument.
  if (!hasRun && !/node|electron/i.test(program)) return undefined;
  let at = 1;
  while (argv[at]?.startsWith('-') || (hasRun && argv[at] === 'run')) {
    at += valued.has(argv[at] as string) ? 2 : 1;
  }
  const script = argv[at];
  if (script === undefined || !isCommand(script, cwd)) return undefined;
  const args = argv.slice(at + 1);
  return isCommandName(args[0]) && !connecting.has(args[0]) ? undefined : args;
}

/** Commands that connect to servers also answer `doctor`. */
const connecting = new Set<CommandName>(['call', 'shell']);

function isCommand(script: string, cwd: string | undefined): boolean {
  if (basename(script) === 'mcp-actors' || /^npm:@mcp-actors\/cli(@|$)/.test(script)) return true;
  if (!/^cli\.[jt]s$/.test(basename(script))) return false;
  if (/[\\/]@mcp-actors[\\/]cli[\\/]dist[\\/]cli\.js$/.test(script)) return true;
  try {
    const path = realpathSync(resolve(cwd ?? '/', script));
    return isOurPackage(dirname(dirname(path)));
  } catch {
    // The path does not exist here: the process runs in a container, or its version was removed.
    return false;
  }
}

function isOurPackage(directory: string): boolean {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return (manifest as { readonly name?: unknown } | null)?.name === '@mcp-actors/cli';
  } catch {
    // Most directories are not packages.
    return false;
  }
}
