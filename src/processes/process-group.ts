/**
 * A process group: what a launched process and everything it has started have in common, unless one
 * of them leaves it (`setsid`). On Windows there are none; there it is the tree below a process.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';

const isWindows = process.platform === 'win32';

/** How many entries of the process table are read at once. */
const batch = 64;

/**
 * Sends a signal to every process of a group. A group that is empty, or that belongs to others
 * meanwhile, is left alone.
 *
 * @param pid of the process that leads the group
 */
export function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (isWindows) return endTree(pid, signal);
  send(pid, signal);
  // One that is stopped would take SIGTERM only once it is continued.
  if (signal === 'SIGTERM') send(pid, 'SIGCONT');
}

function send(pid: number, signal: NodeJS.Signals | 0): 'sent' | 'refused' | 'empty' {
  try {
    process.kill(-pid, signal);
    return 'sent';
  } catch (error) {
    // EPERM: they run as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'refused' : 'empty';
  }
}

/** Only as long as the process itself runs: nothing else knows what it has started. */
function endTree(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  const { file, args } = taskkill(pid, signal, process.env['SystemRoot']);
  execFile(file, args, { windowsHide: true }, () => {
    // It fails if the process has ended meanwhile, which is heard elsewhere.
  });
}

/** What ends a process of Windows, with all that it has started. Found without the PATH, which is anybody's. */
export function taskkill(
  pid: number,
  signal: 'SIGTERM' | 'SIGKILL',
  systemRoot = 'C:\\Windows',
): { readonly file: string; readonly args: readonly string[] } {
  const force = signal === 'SIGKILL' ? ['/F'] : [];
  return {
    file: `${systemRoot}\\System32\\taskkill.exe`,
    args: ['/PID', String(pid), '/T', ...force],
  };
}

/**
 * How many living processes a group has. Zombies do not count: in a container without an init process
 * they stay for ever.
 *
 * @param pid of the process that leads the group, or led it
 */
export async function countLiving(pid: number): Promise<number> {
  if (isWindows || send(pid, 0) === 'empty') return 0;
  const groups = process.platform === 'linux' ? await groupsOfProc() : await groupsOfPs();
  return groups.filter((group) => group === pid).length;
}

/** The groups of all living processes, one entry for each process. */
async function groupsOfProc(): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const groups: number[] = [];
  for (let from = 0; from < pids.length; from += batch) {
    groups.push(...pids.slice(from, from + batch).flatMap((pid) => groupIn(statOf(pid)) ?? []));
    await setImmediate();
  }
  return groups;
}

/**
 * Empty if the process has ended in the meantime. The kernel answers from its memory, in a few
 * microseconds; to let others wait for it would take twenty times as long.
 */
function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

/** @param stat `PID (NAME) STATE PARENT GROUP …`, where the name may hold anything */
function groupIn(stat: string): number | undefined {
  const [state = 'X', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return /[ZXx]/.test(state) ? undefined : Number(group);
}

function groupsOfPs(): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    execFile('/bin/ps', ['-A', '-o', 'pgid=,stat='], (error, stdout) => {
      if (error) return reject(error as Error);
      const lines = stdout.matchAll(/^\s*(\d+)\s+[^Z\s]/gm);
      resolve([...lines].map(([, group]) => Number(group)));
    });
  });
}
