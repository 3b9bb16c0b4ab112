/**
 * Processes on POSIX. A launched process leads a group: what it and everything it has started have in
 * common, unless one of them leaves it (`setsid`).
 */
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, constants, readdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { endWithHost } from './end-with-host.ts';
import type {
  ChildTree,
  EndSignal,
  FoundCommand,
  LaunchOptions,
  PipedChild,
  PreparedLaunch,
} from './platform.ts';

/** Prepares the start of a command that leads a group. */
export async function prepareGroup(
  found: FoundCommand,
  { isWatched, hasChannel }: LaunchOptions,
): Promise<PreparedLaunch> {
  const start = (command: FoundCommand, watcher: 'watched' | 'unwatched') => () =>
    new ProcessGroup(command, watcher, hasChannel);
  // The first process of a container: with it, the kernel ends all others. And it would have to
  // collect the watcher, which Node does not do.
  if (!isWatched || process.pid === 1) return { start: start(found, 'unwatched') };
  const command = await watched(found);
  if (typeof command !== 'string') return { start: start(command, 'watched') };
  return { unwatched: command, start: start(found, 'unwatched') };
}

/**
 * Sends a signal to every process of a group. A group that is empty, or that belongs to others
 * meanwhile, is left alone.
 *
 * @param pid of the process that leads the group
 */
function signalGroup(pid: number, signal: EndSignal): void {
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

/** A child process that leads a group of its own. */
class ProcessGroup implements ChildTree {
  readonly child: PipedChild;
  /** Ends once the watcher is gone, which is in the group. */
  readonly #watcher: Readable | undefined;
  readonly #forget: () => void;

  constructor(
    { file, args, cwd, env }: FoundCommand,
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
      // A session of its own, and a group: what the terminal sends is for the host.
      detached: true,
    }) as PipedChild;
    const { pid } = child;
    this.child = child;
    this.#watcher = (child.stdio[watcherDescriptor] ?? undefined) as Readable | undefined;
    this.#watcher?.resume();
    this.#forget =
      watcher === 'watched' || pid === undefined
        ? () => {}
        : endWithHost((signal) => signalGroup(pid, signal));
  }

  get #leader(): number {
    return this.child.pid as number;
  }

  signal(signal: EndSignal): void {
    signalGroup(this.#leader, signal);
  }

  async isEmpty(): Promise<boolean> {
    const living = await countLiving(this.#leader);
    // Only the watcher: there is nothing left to watch.
    if (living === 1 && this.#watcher?.closed === false) this.signal('SIGKILL');
    return living === 0;
  }

  release(): void {
    this.#forget();
    this.#watcher?.destroy();
  }
}

/**
 * How many living processes a group has. Zombies do not count: in a container without an init process
 * they stay for ever.
 *
 * @param pid of the process that leads the group, or led it
 */
async function countLiving(pid: number): Promise<number> {
  if (send(pid, 0) === 'empty') return 0;
  const groups = process.platform === 'linux' ? await groupsOfProc() : await groupsOfPs();
  return groups.filter((group) => group === pid).length;
}

/** How many entries of the process table are read at once. */
const batch = 64;

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

/*
 * What ends a group if this process, its host, is killed. A POSIX shell starts the process: two lines
 * leave a watcher in the group, and then become the process. The watcher reads a pipe from the host
 * that nobody ever writes to. Its end means that the host is gone, however it went.
 */

const shell = '/bin/sh';

/** The pipe from the host, as the shell knows it. */
const watcherDescriptor = 3;

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

/**
 * How a command is started so that it is watched: by `/bin/sh`, with a pipe at
 * {@link watcherDescriptor}; or why it cannot be.
 */
async function watched({
  file,
  args,
  cwd,
  env,
}: FoundCommand): Promise<FoundCommand | NonNullable<PreparedLaunch['unwatched']>> {
  if (!(await hasShell())) return 'no shell';
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
