/**
 * The processes of this user that serve. SIGUSR2 ends a process that does not listen for it, so that each is looked at closely first: it runs
 * our command, and it is seen, or old enough, to listen.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { userId } from './exchange.ts';
import { serveArguments } from './node-script.ts';

export interface ServingProcess {
  readonly pid: number;
  /** After the command's name. */
  readonly args: readonly string[];
  /** Whether it listens for SIGUSR2. */
  readonly listens: boolean;
  /** `R` runs, `S` waits, `T` is stopped, as `ps` has it; undefined where that is not known. */
  readonly activity?: string;
}

/** Where `ps` alone tells of processes, one is taken to listen once it is so old, seconds. */
const settledAfterSeconds = 3;

/** The serving processes of this user, this one excepted, by pid. */
export function servingProcesses(): readonly ServingProcess[] {
  const found = process.platform === 'linux' ? fromProc() : fromPs();
  return found.filter(({ pid }) => pid !== process.pid).sort((a, b) => a.pid - b.pid);
}

/** One of them. */
export function servingProcess(pid: number): ServingProcess | undefined {
  if (process.platform === 'linux') return readProc(pid);
  return servingProcesses().find((found) => found.pid === pid);
}

/** Linux tells of each process in files. */
function fromProc(): readonly ServingProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProc(Number(name)) ?? []);
}

function readProc(pid: number): ServingProcess | undefined {
  try {
    if (statSync(`/proc/${pid}`).uid !== userId()) return undefined;
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    const args = serveArguments(argv, readlinkSync(`/proc/${pid}/cwd`));
    if (!args) return undefined;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const caught = BigInt(`0x${/^SigCgt:\s*([\da-f]+)$/m.exec(status)?.[1] ?? '0'}`);
    const listens = ((caught >> BigInt(constants.signals.SIGUSR2 - 1)) & 1n) === 1n;
    const activity = /^State:\s*(\w)/m.exec(status)?.[1];
    return { pid, args, listens, ...(activity === undefined ? {} : { activity }) };
  } catch {
    // It has ended meanwhile, or may not be looked at.
    return undefined;
  }
}

/** What every other Unix has. Its lines do not tell where an argument ends, so that a path with a space in it is not recognized. */
export function fromPs(): readonly ServingProcess[] {
  const columns = ['pid=', 'uid=', 'state=', 'etime=', 'args='].flatMap((column) => ['-o', column]);
  const table = execFileSync('ps', ['-A', '-ww', ...columns], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
  return table.split('\n').flatMap((line) => {
    const [pid, uid, state = '', age = '', ...argv] = line.trim().split(/\s+/);
    if (Number(uid) !== userId()) return [];
    const args = serveArguments(argv, undefined);
    if (!args) return [];
    const listens = secondsOf(age) >= settledAfterSeconds;
    return [{ pid: Number(pid), args, listens, activity: state.slice(0, 1) }];
  });
}

/** Of `[[days-]hours:]minutes:seconds`. */
export function secondsOf(age: string): number {
  const [days, time] = age.includes('-') ? age.split('-') : ['0', age];
  return (
    (time ?? '').split(':').reduce((sum, part) => sum * 60 + Number(part), 0) +
    Number(days) * 86_400
  );
}
