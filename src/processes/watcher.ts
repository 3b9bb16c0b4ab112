/**
 * What ends a process group if this process, its host, ends first.
 *
 * If there is a POSIX shell, it starts the process: two lines leave a watcher in the group, and then
 * become the process. The watcher reads a pipe from the host that nobody ever writes
 * to. Its end means that the host is gone, however it went. Elsewhere, and if the option is off, only
 * a host that ends in an orderly way can end them.
 */
import { access, constants } from 'node:fs/promises';
import { signalGroup } from './process-group.ts';
import type { FoundCommand } from './command.ts';

const shell = '/bin/sh';

/** The pipe from the host, as the shell knows it. */
export const watcherDescriptor = 3;

/**
 * The shell collects the outer subshell before it becomes the process, for two reasons. The watcher is
 * then no child of the process: one that waits for all of its children would wait for ever. And
 * nobody but the process holds its pipes. The watcher ignores what ends others, and finds `sleep`
 * whatever the PATH of the process is.
 */
const watch =
  `( { trap "" HUP INT QUIT PIPE TERM USR1 USR2; cd /; PATH="$PATH:/usr/bin:/bin"; read -r line; kill -TERM 0; sleep 1; ` +
  `kill -KILL 0; } <&${watcherDescriptor} & ) </dev/null >/dev/null 2>&1`;

/** What a shell puts into the environment of whatever it starts. */
const ofTheShell = ['PWD', 'OLDPWD', 'SHLVL', '_'];

/** Why a command is started without a watcher. */
export type Unwatched = 'not wanted' | 'not needed' | 'no shell' | 'unusual variables';

/**
 * How a command is started so that it is watched: by `/bin/sh`, with a pipe at
 * {@link watcherDescriptor}; or why it cannot be.
 */
export async function watched({
  file,
  args,
  cwd,
  env,
}: FoundCommand): Promise<FoundCommand | Unwatched> {
  // The first process of a container: with it, the kernel ends all others. And it would have to
  // collect the watcher, which Node does not do.
  if (process.pid === 1) return 'not needed';
  if (process.platform === 'win32' || !(await hasShell())) return 'no shell';
  const names = Object.keys(env);
  // Shells drop such variables without a word.
  if (names.some((name) => !/^[A-Za-z_]\w*$/.test(name))) return 'unusual variables';
  const added = ofTheShell.filter((name) => !names.includes(name));
  const script = `${watch}\nunset ${added.join(' ')}; exec "$@" ${watcherDescriptor}<&-`;
  return { file: shell, args: ['-c', script, 'watch', file, ...args], cwd, env };
}

let shellIsThere: Promise<boolean> | undefined;

function hasShell(): Promise<boolean> {
  shellIsThere ??= access(shell, constants.X_OK).then(
    () => true,
    () => false,
  );
  return shellIsThere;
}

/** The leaders of the groups that no watcher ends. */
const unwatched = new Set<number>();

const endAll = (): void => {
  for (const pid of unwatched) signalGroup(pid, 'SIGKILL');
};

/**
 * Ends a group without a watcher when this process ends by itself.
 *
 * @returns what is called once the group is empty
 */
export function endWithHost(pid: number): () => void {
  if (unwatched.size === 0) process.on('exit', endAll);
  unwatched.add(pid);
  return () => {
    unwatched.delete(pid);
    if (unwatched.size === 0) process.off('exit', endAll);
  };
}
