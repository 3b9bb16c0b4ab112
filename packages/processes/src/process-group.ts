/**
 * Processes on POSIX. A launched process leads a process group, which all its descendants share
 * unless one leaves it (`setsid`).
 */
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, constants, readdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { killOnExit } from './kill-on-exit.ts';
import type {
  ChildTree,
  KillSignal,
  ResolvedCommand,
  LaunchOptions,
  PipedChild,
  PreparedLaunch,
} from './platform.ts';

/** Prepares a command that will lead its own process group. */
export async function prepareGroup(
  found: ResolvedCommand,
  { isWatched, hasChannel }: LaunchOptions,
): Promise<PreparedLaunch> {
  const start = (command: ResolvedCommand, watcher: 'watched' | 'unwatched') => () =>
    new ProcessGroup(command, watcher, hasChannel);
  // As pid 1 of a container no watcher is needed: the kernel kills all processes with pid 1. It
  // would also have to reap the watcher, which Node does not do.
  if (!isWatched || process.pid === 1) return { start: start(found, 'unwatched') };
  const command = await withWatcher(found);
  if (typeof command !== 'string') return { start: start(command, 'watched') };
  return { unwatched: command, start: start(found, 'unwatched') };
}

/**
 * Signals every process of a group. Ignores a group that is empty or now belongs to another user.
 *
 * @param pid of the group's leader
 */
function signalGroup(pid: number, signal: KillSignal): void {
  send(pid, signal);
  // A stopped process handles SIGTERM only after SIGCONT.
  if (signal === 'SIGTERM') send(pid, 'SIGCONT');
}

function send(pid: number, signal: NodeJS.Signals | 0): 'sent' | 'refused' | 'empty' {
  try {
    process.kill(-pid, signal);
    return 'sent';
  } catch (error) {
    // EPERM: the group runs as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'refused' : 'empty';
  }
}

/** A child process that leads its own group. */
class ProcessGroup implements ChildTree {
  readonly child: PipedChild;
  /** Pipe to the watcher, a member of the group; closes when the watcher ends. */
  readonly #watcher: Readable | undefined;
  readonly #unregister: () => void;

  constructor(
    { file, args, cwd, env }: ResolvedCommand,
    watcher: 'watched' | 'unwatched',
    hasChannel: boolean,
  ) {
    const child = spawn(file, args, {
      cwd,
      env,
      stdio: [
        ...(['pipe', 'pipe', 'pipe'] as const),
        ...(watcher === 'watched' ? (['pipe'] as const) : []),
        ...(hasChannel ? (['ipc'] as const) : []),
      ],
      // Detached into its own session and group, so that signals from the terminal reach only the
      // host.
      detached: true,
    }) as PipedChild;
    const { pid } = child;
    this.child = child;
    this.#watcher = (child.stdio[watcherDescriptor] ?? undefined) as Readable | undefined;
    this.#watcher?.resume();
    this.#unregister =
      watcher === 'watched' || pid === undefined
        ? () => {}
        : killOnExit((signal) => signalGroup(pid, signal));
  }

  get #leader(): number {
    return this.child.pid as number;
  }

  signal(signal: KillSignal): void {
    signalGroup(this.#leader, signal);
  }

  async isEmpty(): Promise<boolean> {
    const living = await countLiving(this.#leader);
    // Only the watcher is left.
    if (living === 1 && this.#watcher?.closed === false) this.signal('SIGKILL');
    return living === 0;
  }

  release(): void {
    this.#unregister();
    this.#watcher?.destroy();
  }
}

/**
 * Number of living processes in a group. Zombies do not count, because in a container without an
 * init process they stay forever.
 *
 * @param pid of the group's current or former leader
 */
async function countLiving(pid: number): Promise<number> {
  if (send(pid, 0) === 'empty') return 0;
  const groups = process.platform === 'linux' ? await groupsOfProc() : await groupsOfPs();
  return groups.filter((group) => group === pid).length;
}

/** Number of process table entries read per turn of the event loop. */
const batch = 64;

/** Group ids of all living processes, one per process. */
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
 * Returns '' if the process has ended. The synchronous read takes microseconds, because the kernel
 * answers from memory; an asynchronous one would take twenty times as long.
 */
function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Group id of a living process.
 *
 * @param stat `PID (NAME) STATE PARENT GROUP …`, where the name may contain any character
 */
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

/*
 * The watcher ends a group when this process, its host, is killed. A shell starts it in the group
 * and then executes the command. The watcher blocks on reading a pipe from the host to which
 * nothing is ever written. End of file means that the host is gone, for whatever reason.
 */

const shell = '/bin/sh';

/** File descriptor of the pipe from the host. */
const watcherDescriptor = 3;

/**
 * Shell script of the watcher. The shell waits for the outer subshell before it executes the
 * command, for two reasons: the watcher is then not a child of the command, which might wait for
 * all its children forever, and no other process holds the command's pipes. The watcher ignores
 * terminating signals, and extends PATH to find `sleep`.
 */
const watch =
  `( { trap "" HUP INT QUIT PIPE TERM USR1 USR2; cd /; PATH="$PATH:/usr/bin:/bin"; read -r line; kill -TERM 0; sleep 1; ` +
  `kill -KILL 0; } <&${watcherDescriptor} & ) </dev/null >/dev/null 2>&1`;

/** Variables that a shell adds to the environment of its children. */
const shellVariables = ['PWD', 'OLDPWD', 'SHLVL', '_'];

/**
 * Wraps a command so that `/bin/sh` starts it with a watcher that reads {@link watcherDescriptor}.
 * Returns the reason if that is impossible.
 */
async function withWatcher({
  file,
  args,
  cwd,
  env,
}: ResolvedCommand): Promise<ResolvedCommand | NonNullable<PreparedLaunch['unwatched']>> {
  if (!(await hasShell())) return 'no shell';
  const names = Object.keys(env);
  // Shells silently drop variables with other names.
  if (names.some((name) => !/^[A-Za-z_]\w*$/.test(name))) return 'unusual variables';
  const added = shellVariables.filter((name) => !names.includes(name));
  const script = `${watch}\nunset ${added.join(' ')}; exec "$@" ${watcherDescriptor}<&-`;
  return { file: shell, args: ['-c', script, 'watch', file, ...args], cwd, env };
}

let shellFound: Promise<boolean> | undefined;

function hasShell(): Promise<boolean> {
  shellFound ??= access(shell, constants.X_OK).then(
    () => true,
    () => false,
  );
  return shellFound;
}
