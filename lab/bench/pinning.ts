/** Keeps a process on one core. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

type Command = readonly [program: string, ...args: string[]];

let canPin: boolean | undefined = undefined;

/** The command, on the last core; as it is where there is no `taskset`, or one core alone. */
export function pinned(command: Command): Command {
  canPin ??=
    availableParallelism() > 1 && spawnSync('taskset', ['-p', `${process.pid}`]).status === 0;
  return canPin ? ['taskset', '-c', String(availableParallelism() - 1), ...command] : command;
}
