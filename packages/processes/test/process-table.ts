/** The system's table of processes. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, vi } from 'vitest';

export interface Entry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly command: string;
}

/** Every process that lives. Zombies do not: where nobody collects orphans they stay. */
export function processTable(): readonly Entry[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? entryOf(name) : []));
}

function entryOf(pid: string): readonly Entry[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return [];
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: Number(session),
        command,
      },
    ];
  } catch {
    // It has ended meanwhile.
    return [];
  }
}

/** The members of a process group. */
export function membersOf(group: number): readonly Entry[] {
  return processTable().filter((entry) => entry.group === group);
}

/** Kills what is left of a process group. A member that has ended since it was listed is none of them. */
export function killMembers(group: number): void {
  for (const { pid } of membersOf(group)) kill(pid);
}

/** Kills a process, if it has not ended by itself in the meantime. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Waits until nobody is left of a group that another process ends. */
export async function emptied(group: number): Promise<void> {
  await vi.waitFor(() => expect(membersOf(group)).toEqual([]), { timeout: 100_000, interval: 10 });
}

/** Checks that a group is empty now. */
export function expectEmpty(group: number): void {
  expect(membersOf(group)).toEqual([]);
}
