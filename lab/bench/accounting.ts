/** What the operating system says a process has used. Its word is robust where wall time is not: a busy machine does not change it much. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

/**
 * The processor time that a process has used in all of its threads, milliseconds; undefined where there is no procfs.
 * The scheduler counts nanoseconds; where it does not tell them, ticks are used.
 *
 * @see proc(5), `/proc/PID/stat`, and the kernel's sched-stats.rst
 */
export function cpuMsOf(pid: number): number | undefined {
  return cpuByScheduler(pid) ?? cpuByTicks(pid);
}

/**
 * The processor time of a process and of all that it has started and that still run, milliseconds; undefined if the system does not
 * tell.
 *
 * @see proc(5), `/proc/PID/task/TID/children`
 */
export function cpuMsOfFamily(pid: number): number | undefined {
  const own = cpuMsOf(pid);
  if (own === undefined) return undefined;
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    (read(`/proc/${pid}/task/${thread}/children`) ?? '').split(' ').filter((text) => text !== ''),
  );
  return children.reduce((sum, child) => sum + (cpuMsOfFamily(Number(child)) ?? 0), own);
}

function cpuByScheduler(pid: number): number | undefined {
  const folder = `/proc/${pid}/task`;
  try {
    return readdirSync(folder).reduce((sum, thread) => {
      const [running] = readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ');
      return sum + Number(running) / 1e6;
    }, 0);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function cpuByTicks(pid: number): number | undefined {
  const text = read(`/proc/${pid}/stat`);
  // The name in parentheses may contain spaces.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields && ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond();
}

let ticks: number | undefined = undefined;

function ticksPerSecond(): number {
  return (ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })));
}

/**
 * The processor time of all processes that this one has started and that have ended, milliseconds; NaN where there is no procfs. It is told in
 * ticks, 10 ms as a rule, so that the difference between two readings says something only about several processes together.
 *
 * @see proc(5), `/proc/PID/stat`, `cutime` and `cstime`
 */
export function cpuMsOfEnded(): number {
  const text = read('/proc/self/stat');
  if (text === undefined) return Number.NaN;
  // This starts a process itself the first time.
  const msPerTick = 1000 / ticksPerSecond();
  const fields = (read('/proc/self/stat') ?? text).slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * msPerTick;
}

/** The memory that a process holds, bytes; undefined where there is no procfs. */
export function rssBytesOf(pid: number): number | undefined {
  const kibibytes = /^VmRSS:\s*(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** No procfs, no such count in it, or a process or thread that has just ended. */
function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR';
}
