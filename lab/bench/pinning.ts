/** Pins a process to one core. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

type Command = readonly [program: string, ...args: string[]];

let canPin: boolean | undefined = undefined;

/** Wraps a command to run on the last core; unchanged without `taskset` or with a single core. */
export function pinned(command: Command): Command {
  canPin ??=
    availableParallelism() > 1 && spawnSync('taskset', ['-p', `${process.pid}`]).status === 0;
  return canPin ? ['taskset', '-c', String(availableParallelism() - 1), ...command] : command;
}
