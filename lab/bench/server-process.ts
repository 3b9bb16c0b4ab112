/** Process of a measured server: CPU time, memory and faults. */
import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuMsOf, cpuMsOfFamily, rssBytesOf } from './accounting.ts';
import { pinned } from './pinning.ts';

const exitMs = 2_000;

const heapProbe = [
  '--expose-gc',
  '--require',
  fileURLToPath(new URL('heap-probe.cjs', import.meta.url)),
];

export interface ServerOptions {
  readonly cwd: string;
  /** True to load the heap probe, which would affect time and total memory. */
  readonly heapProbe?: boolean;
  /** True to pin the server to one core, where supported. */
  readonly isPinned?: boolean;
  /** Additional environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
}

type Child = ChildProcess & {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

export class ServerProcess {
  readonly #child: Child;
  readonly #exited: Promise<void>;
  #break: (error: Error) => void = () => {};
  #stderr = '';
  #state: 'running' | 'closing' = 'running';
  /** Rejects when the server dies, hangs or misbehaves. Never resolves. */
  readonly broken: Promise<never>;

  /** Starts `node` with these arguments. */
  constructor(args: readonly string[], options: ServerOptions) {
    const { cwd, heapProbe: isProbed = false, isPinned = false, env: given = {} } = options;
    // Flags for running the benchmark must not affect the servers.
    const env = { ...process.env, NODE_OPTIONS: '', ...given };
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', ...(isProbed ? (['ipc'] as const) : [])];
    const allArgs = isProbed ? [...heapProbe, ...args] : args;
    const command = [process.execPath, ...allArgs] as const;
    const [program, ...rest] = isPinned ? pinned(command) : command;
    this.#child = spawn(program, rest, { cwd, env, stdio }) as Child;
    this.broken = new Promise((_resolve, reject) => {
      this.#break = reject;
    });
    // Measures race against this promise; between measures nobody handles it.
    this.broken.catch(() => {});
    this.#child.stdin.on('error', (error) => this.fail(`its input broke: ${error.message}`));
    this.#child.stderr.on('data', (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString()).slice(-2_000);
    });
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        if (this.#state !== 'closing') this.fail(`it ended with ${signal ?? code}`);
        resolve();
      });
    });
  }

  get stdin(): Writable {
    return this.#child.stdin;
  }

  get stdout(): Readable {
    return this.#child.stdout;
  }

  /** CPU time of the process, ms. */
  get cpuMs(): number {
    return cpuMsOf(this.#child.pid ?? 0) ?? Number.NaN;
  }

  /** CPU time of the process and its descendants, ms. */
  get familyCpuMs(): number {
    return cpuMsOfFamily(this.#child.pid ?? 0) ?? Number.NaN;
  }

  /** Resident memory of the process, bytes. */
  get rssBytes(): number {
    return rssBytesOf(this.#child.pid ?? 0) ?? Number.NaN;
  }

  /** Live heap of a server with a heap probe after garbage collection, bytes. */
  async liveHeapBytes(): Promise<number> {
    this.#child.send('');
    const [{ heapBytes }] = (await once(this.#child, 'message')) as [
      { readonly heapBytes: number },
    ];
    return heapBytes;
  }

  /** Fails the measurement with a reason. */
  fail(why: string): void {
    const lines = this.#stderr.trim().split('\n');
    const said = lines.findLast((line) => line.includes('Error')) ?? lines.at(-1) ?? '';
    this.#break(new Error(said === '' ? why : `${why}; stderr: ${said.slice(0, 300)}`));
  }

  /**
   * Ends the process's input, sends the optional signal, and kills the process if it does not exit.
   */
  async close(signal?: NodeJS.Signals): Promise<void> {
    this.#state = 'closing';
    this.#child.stdout.resume();
    this.#child.stdin.end();
    if (signal !== undefined) this.#child.kill(signal);
    await Promise.race([this.#exited, delay(exitMs, undefined, { ref: false })]);
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}

/** Runs an action with a client and closes it. Rejects if the client breaks meanwhile. */
export async function withClient<
  C extends { readonly broken: Promise<never>; readonly close: () => Promise<void> },
  T,
>(client: C, body: (client: C) => Promise<T>): Promise<T> {
  try {
    return await Promise.race([body(client), client.broken]);
  } finally {
    await client.close();
  }
}

/** Fails a process that is silent for a while although responses are pending. */
export class SilenceWatch {
  readonly #timer: NodeJS.Timeout;
  #heardAt = performance.now();

  /** @param awaited returns the number of pending responses */
  constructor(server: ServerProcess, silenceMs: number, awaited: () => number) {
    this.#timer = setInterval(() => {
      const count = awaited();
      if (count === 0 || performance.now() - this.#heardAt < silenceMs) return;
      server.fail(`it hangs: nothing for ${silenceMs / 1000} s, ${count} unanswered`);
    }, 500);
  }

  /** Records traffic in either direction. */
  heard(at: number): void {
    this.#heardAt = at;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
