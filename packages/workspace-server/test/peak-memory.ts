/** Peak memory of ripgrep child processes, on Linux. */
import { readFileSync, readdirSync } from 'node:fs';

/**
 * Runs `work` and returns the highest peak resident set (`VmHWM`) of any ripgrep child meanwhile,
 * bytes. The kernel keeps each process's peak, so only growth after the last sample is missed.
 */
export async function peakOfRipgrep(work: () => Promise<unknown>): Promise<number> {
  let peak = 0;
  const look = (): void => {
    for (const pid of children()) peak = Math.max(peak, highWater(pid));
  };
  const timer = setInterval(look, 2);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return peak;
}

function children(): string[] {
  return readdirSync('/proc/self/task').flatMap((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
    } catch {
      // The thread has ended.
      return [];
    }
  });
}

function highWater(pid: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    // Before `exec`, a child reports the memory of its parent.
    if (!status.startsWith('Name:\trg\n')) return 0;
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
