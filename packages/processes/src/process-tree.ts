/**
 * Processes on Windows, which has no process groups. `taskkill /T` ends the tree below a running
 * process; orphans are found by the parent id that they keep.
 *
 * A job object would hold a tree together, but needs native code or a 60 MB PowerShell beside each
 * server.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { killOnExit } from './kill-on-exit.ts';
import type {
  ChildTree,
  KillSignal,
  ResolvedCommand,
  LaunchOptions,
  PipedChild,
  PreparedLaunch,
  WindowsTools,
} from './platform.ts';

/** Starts processes that share one reader of the system's process table. */
export class ProcessTrees {
  readonly #tools: WindowsTools;
  readonly #table: ProcessTable;

  constructor(tools: WindowsTools) {
    this.#tools = tools;
    this.#table = new ProcessTable(tools.powershell);
  }

  /** Prepares a command for starting. */
  async prepare(found: ResolvedCommand, options: LaunchOptions): Promise<PreparedLaunch> {
    // A batch file needs `cmd.exe` and its quoting rules.
    const { default: start } = await import('cross-spawn');
    const scope = { ...options, tools: this.#tools, table: this.#table, start };
    return { start: () => new ProcessTree(found, scope) };
  }
}

/** Ends process trees; ignores processes that have already ended. */
function kill(
  { taskkill }: Pick<WindowsTools, 'taskkill'>,
  pids: readonly number[],
  signal: KillSignal,
): void {
  if (pids.length === 0) return;
  const force = signal === 'SIGKILL' ? ['/F'] : [];
  const args = [...pids.flatMap((pid) => ['/PID', String(pid)]), '/T', ...force];
  execFile(taskkill, args, { windowsHide: true }, () => {
    // Fails if a process has already ended, which is detected elsewhere.
  });
}

interface TreeScope extends LaunchOptions {
  readonly tools: WindowsTools;
  readonly table: ProcessTable;
  readonly start: (file: string, args: string[], options: SpawnOptions) => ChildProcess;
}

/** A child process and its descendants. */
class ProcessTree implements ChildTree {
  readonly child: PipedChild;
  readonly #tools: WindowsTools;
  readonly #table: ProcessTable;
  readonly #startedMs = Date.now();
  readonly #stopWatching: () => void;
  /** Orphans found by the last check. */
  #orphans: readonly number[] = [];
  /** Last signal sent, to be sent to newly found orphans too. */
  #signal: KillSignal | undefined;

  constructor({ file, args, cwd, env }: ResolvedCommand, scope: TreeScope) {
    const { tools, table, isWatched, hasChannel, start } = scope;
    this.#tools = tools;
    this.#table = table;
    this.child = start(file, [...args], {
      cwd,
      env,
      stdio: hasChannel ? ['pipe', 'pipe', 'pipe', 'ipc'] : 'pipe',
      windowsHide: true,
    }) as PipedChild;
    const { pid } = this.child;
    if (pid === undefined) this.#stopWatching = () => {};
    else if (isWatched) this.#stopWatching = watch(pid, tools);
    else this.#stopWatching = killOnExit((signal) => this.signal(signal));
  }

  signal(signal: KillSignal): void {
    const { pid, exitCode, signalCode } = this.child;
    const hasEnded = exitCode !== null || signalCode !== null;
    this.#signal = signal;
    kill(this.#tools, hasEnded ? this.#orphans : [pid as number], signal);
  }

  async isEmpty(): Promise<boolean> {
    const { pid } = this.child;
    this.#orphans = orphansOf(pid as number, this.#startedMs, await this.#table.read());
    if (this.#signal) kill(this.#tools, this.#orphans, this.#signal);
    return this.#orphans.length === 0;
  }

  release(): void {
    this.#stopWatching();
  }
}

/**
 * Starts a watcher that ends a tree when this process is killed: `findstr` reads a pipe to which
 * nothing is written, until this process is gone.
 *
 * @returns a function that ends only the watcher
 */
function watch(pid: number, { cmd, findstr, taskkill }: WindowsTools): () => void {
  const command = `"${findstr}" "^" >nul & "${taskkill}" /PID ${pid} /T /F >nul 2>&1`;
  const watcher = spawn(cmd, ['/d', '/s', '/c', `"${command}"`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
    windowsVerbatimArguments: true,
  });
  // The watcher must not keep this process alive.
  watcher.unref();
  (watcher.stdin as typeof watcher.stdin & { unref?(): void }).unref?.();
  watcher.stdin.on('error', () => {});
  // Without a watcher, an orderly exit of this process still ends the tree.
  let unregister = () => {};
  watcher.once('error', () => {
    unregister = killOnExit((signal) => kill({ taskkill }, [pid], signal));
  });
  return () => {
    unregister();
    // Kill the shell first, so that it does not run the second command.
    watcher.kill();
    watcher.once('exit', () => watcher.stdin.destroy());
  };
}

/** A row of the system's process table. */
interface TableEntry {
  readonly pid: number;
  readonly parent: number;
  /** Start time, milliseconds since 1970. */
  readonly startedMs: number;
}

/**
 * Orphans of a process and their descendants, found by their parent ids. If another process has
 * reused the pid, its children are excluded.
 */
export function orphansOf(
  pid: number,
  startedMs: number,
  table: readonly TableEntry[],
): readonly number[] {
  const successorMs = table.find((entry) => entry.pid === pid)?.startedMs ?? Infinity;
  const found = new Map<number, TableEntry>();
  const parents: TableEntry[] = [{ pid, parent: 0, startedMs }];
  for (const { pid: parent, startedMs: sinceMs } of parents) {
    for (const entry of table) {
      const isChild = entry.parent === parent && entry.startedMs >= sinceMs;
      const isOther = parent === pid && entry.startedMs >= successorMs;
      if (!isChild || isOther || found.has(entry.pid) || entry.pid === pid) continue;
      found.set(entry.pid, entry);
      parents.push(entry);
    }
  }
  return [...found.keys()];
}

/** Prints pid, parent pid, and start time in units of 100 ns since 1601, one process per line. */
const listing =
  'Get-CimInstance Win32_Process -Property ProcessId,ParentProcessId,CreationDate | ' +
  'Where-Object CreationDate | ' +
  "ForEach-Object { '{0} {1} {2}' -f $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToFileTimeUtc() }";

/** From 1601 to 1970, milliseconds. */
const fileTimeEpochMs = 11_644_473_600_000;

/** More than the table of a hundred thousand processes. */
const maxTableBytes = 16 * 1024 ** 2;

/** Timeout of PowerShell, milliseconds. */
const tableTimeoutMs = 30_000;

/**
 * Reader of the system's process table. Each read starts a PowerShell, so reads run one at a time.
 */
class ProcessTable {
  readonly #powershell: string;
  #running: Promise<unknown> = Promise.resolve();
  /** The next read, shared by all callers since the last one began. */
  #next: Promise<readonly TableEntry[]> | undefined;

  constructor(powershell: string) {
    this.#powershell = powershell;
  }

  /** Reads the table with a read that starts after this call. */
  read(): Promise<readonly TableEntry[]> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const reading = this.#list();
      this.#running = reading.catch(() => {});
      return reading;
    });
    return this.#next;
  }

  #list(): Promise<readonly TableEntry[]> {
    const args = ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command', listing];
    const options = { windowsHide: true, maxBuffer: maxTableBytes, timeout: tableTimeoutMs };
    return new Promise((resolve, reject) => {
      execFile(this.#powershell, args, options, (error, stdout) => {
        if (error) return reject(error as Error);
        const lines = stdout.matchAll(/^(\d+) (\d+) (\d+)\s*$/gm);
        resolve(
          [...lines].map(([, pid, parent, started]) => ({
            pid: Number(pid),
            parent: Number(parent),
            startedMs: Math.floor(Number(started) / 10_000) - fileTimeEpochMs,
          })),
        );
      });
    });
  }
}
