/**
 * Processes on Windows. There are no process groups: `taskkill /T` ends the tree below a process while
 * that runs, and what a process has left behind is found by the parent that it still names.
 *
 * A job object would hold a tree together. It takes native code, or a PowerShell of 60 MB beside each
 * server that would have to start it.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { endWithHost } from './end-with-host.ts';
import type {
  ChildTree,
  EndSignal,
  FoundCommand,
  LaunchOptions,
  PipedChild,
  PreparedLaunch,
  WindowsTools,
} from './platform.ts';

/** The processes that this one starts, and the system's table of all. */
export class ProcessTrees {
  readonly #tools: WindowsTools;
  readonly #table: ProcessTable;

  constructor(tools: WindowsTools) {
    this.#tools = tools;
    this.#table = new ProcessTable(tools.powershell);
  }

  /** Prepares the start of a command. */
  async prepare(found: FoundCommand, options: LaunchOptions): Promise<PreparedLaunch> {
    // A command may be a batch file, which only `cmd.exe` runs, and which wants quoting of its own.
    const { default: start } = await import('cross-spawn');
    const scope = { ...options, tools: this.#tools, table: this.#table, start };
    return { start: () => new ProcessTree(found, scope) };
  }
}

/** One that has ended meanwhile is left alone. */
function kill(
  { taskkill }: Pick<WindowsTools, 'taskkill'>,
  pids: readonly number[],
  signal: EndSignal,
): void {
  if (pids.length === 0) return;
  const force = signal === 'SIGKILL' ? ['/F'] : [];
  const args = [...pids.flatMap((pid) => ['/PID', String(pid)]), '/T', ...force];
  execFile(taskkill, args, { windowsHide: true }, () => {
    // It fails if a process has ended meanwhile, which is heard elsewhere.
  });
}

interface TreeScope extends LaunchOptions {
  readonly tools: WindowsTools;
  readonly table: ProcessTable;
  readonly start: (file: string, args: string[], options: SpawnOptions) => ChildProcess;
}

/** A child process and what it has started. */
class ProcessTree implements ChildTree {
  readonly child: PipedChild;
  readonly #tools: WindowsTools;
  readonly #table: ProcessTable;
  readonly #startedMs = Date.now();
  readonly #unwatch: () => void;
  /** What it has left behind, at the last look. */
  #orphans: readonly number[] = [];
  /** The last signal, for what the next look finds. */
  #signal: EndSignal | undefined;

  constructor({ file, args, cwd, env }: FoundCommand, scope: TreeScope) {
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
    if (pid === undefined) this.#unwatch = () => {};
    else if (isWatched) this.#unwatch = watch(pid, tools);
    else this.#unwatch = endWithHost((signal) => this.signal(signal));
  }

  signal(signal: EndSignal): void {
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
    this.#unwatch();
  }
}

/**
 * Ends a tree if this process is killed: `findstr` reads a pipe that nobody ever writes to, until
 * this process is gone.
 *
 * @returns what ends the watcher, and nothing else
 */
function watch(pid: number, { cmd, findstr, taskkill }: WindowsTools): () => void {
  const command = `"${findstr}" "^" >nul & "${taskkill}" /PID ${pid} /T /F >nul 2>&1`;
  const watcher = spawn(cmd, ['/d', '/s', '/c', `"${command}"`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
    windowsVerbatimArguments: true,
  });
  // It alone keeps no process alive.
  watcher.unref();
  (watcher.stdin as typeof watcher.stdin & { unref?(): void }).unref?.();
  watcher.stdin.on('error', () => {});
  // Whatever ends this process in an orderly way does what a watcher would, if there is none.
  let forget = () => {};
  watcher.once('error', () => {
    forget = endWithHost((signal) => kill({ taskkill }, [pid], signal));
  });
  return () => {
    forget();
    // First the shell, so that it does not go on to the second command.
    watcher.kill();
    watcher.once('exit', () => watcher.stdin.destroy());
  };
}

/** A process of the system's table. */
interface TableEntry {
  readonly pid: number;
  readonly parent: number;
  /** When it was started, milliseconds since 1970. */
  readonly startedMs: number;
}

/**
 * What a process that has ended has left behind, with all that those have started. They name their
 * parent still. The number may belong to another process by now: what that has started is not meant.
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

/** PID, parent, and start in units of 100 ns since 1601, a line for each process. */
const listing =
  'Get-CimInstance Win32_Process -Property ProcessId,ParentProcessId,CreationDate | ' +
  'Where-Object CreationDate | ' +
  "ForEach-Object { '{0} {1} {2}' -f $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToFileTimeUtc() }";

/** From 1601 to 1970, milliseconds. */
const fileTimeEpochMs = 11_644_473_600_000;

/** Far more than a table of a hundred thousand processes has. */
const maxTableBytes = 16 * 1024 ** 2;

/** How long PowerShell may take to read the table, milliseconds. */
const tableTimeoutMs = 30_000;

/** The system's table of processes. Reading it takes a PowerShell, so there is one at a time. */
class ProcessTable {
  readonly #powershell: string;
  #running: Promise<unknown> = Promise.resolve();
  /** The next reading, for all who have asked since the last one began. */
  #next: Promise<readonly TableEntry[]> | undefined;

  constructor(powershell: string) {
    this.#powershell = powershell;
  }

  /** The table as it is from now on. */
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
