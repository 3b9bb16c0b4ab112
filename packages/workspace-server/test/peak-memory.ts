/** What the ripgrep processes of this one take at most, on Linux. */
import { readFileSync, readdirSync } from 'node:fs';

/**
 * Runs `work` and gives the highest `VmHWM` (peak resident set) that any ripgrep below this process has shown meanwhile, bytes. The
 * system keeps the peak of each process; only what one adds after it was last looked at is missed.
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
    // Before it has become ripgrep, a child shows the memory of the process that it was made from.
    if (!status.startsWith('Name:\trg\n')) return 0;
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
