/**
 * Process accounting from the operating system. CPU time is robust where wall time is not: a busy
 * machine hardly changes it.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

/**
 * CPU time of all threads of a process, ms; undefined without procfs. Uses the scheduler's
 * nanoseconds, or ticks where these are missing.
 *
 * @see proc(5), `/proc/PID/stat`, and the kernel's sched-stats.rst
 */
export function cpuMsOf(pid: number): number | undefined {
  return cpuByScheduler(pid) ?? cpuByTicks(pid);
}

/**
 * CPU time of a process and its running descendants, ms; undefined if unavailable.
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
 * CPU time of all terminated children of this process, ms; NaN without procfs. Counted in ticks,
 * usually 10 ms, so a difference is only meaningful over several processes.
 *
 * @see proc(5), `/proc/PID/stat`, `cutime` and `cstime`
 */
export function cpuMsOfEnded(): number {
  const text = read('/proc/self/stat');
  if (text === undefined) return Number.NaN;
  // The first call starts a process itself.
  const msPerTick = 1000 / ticksPerSecond();
  const fields = (read('/proc/self/stat') ?? text).slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * msPerTick;
}

/** Resident memory of a process, bytes; undefined without procfs. */
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

/** No procfs, a missing counter, or a process or thread that has just ended. */
function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR';
}
