/**
 * A client with nothing between it and the bytes. It checks every answer: an id that was not asked, an id answered twice, an error,
 * a content that is not what was expected, each breaks it, and with it the measure.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuMsOf, rssBytesOf } from './accounting.ts';
import { pinned } from './pinning.ts';

/** A message as it comes; what a measure uses of it, the measure checks. */
export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: object;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** A request of ours, without its id. */
export interface Asked {
  readonly method: string;
  readonly params?: object;
}

/** Looks at a result: undefined, or what is wrong with it. */
export type Check = (result: unknown) => string | undefined;

const lineFeed = 0x0a;
const ownRoots = [{ uri: 'file:///bench', name: 'bench' }];

const exitMs = 2_000;

const heapProbe = [
  '--expose-gc',
  '--require',
  fileURLToPath(new URL('heap-probe.cjs', import.meta.url)),
];

export interface RawClientOptions {
  readonly cwd: string;
  /** Without a byte from the server for so long, while something is awaited, the server counts as hanging. */
  readonly silenceMs: number;
  /** Loads what tells the live heap, which is not done to a server whose time or whole memory is measured. */
  readonly heapProbe?: boolean;
  /** Lets the server run on one core alone, where the system can be told so. */
  readonly isPinned?: boolean;
}

type Server = ChildProcess & {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

export class RawClient {
  readonly #child: Server;
  readonly #pending = new Map<number, (result: unknown) => void>();
  /** Cancelled requests: an answer to one may still come. */
  readonly #given = new Set<number>();
  readonly #exited: Promise<void>;
  readonly #watch: NodeJS.Timeout;
  #break: (error: Error) => void = () => {};
  #pieces: Buffer[] = [];
  #nextId = 1;
  #stderr = '';
  #heardAt = performance.now();
  #state: 'open' | 'held' | 'closing' = 'open';
  /** Rejects when the server has died, hangs, or has said something wrong. Never resolves. */
  readonly broken: Promise<never>;
  /** When the chunk that is being read has come, in `performance.now()` milliseconds. */
  receivedAt = 0;
  /** Takes the server's requests. By itself a client knows one thing that it may be asked: its roots. */
  onRequest: (id: number | string, method: string) => void = (id, method) => {
    if (method === 'roots/list') this.write([{ jsonrpc: '2.0', id, result: { roots: ownRoots } }]);
    else this.fail(`an unexpected request of the server: ${method}`);
  };
  /** Called after each chunk, when all of its messages have been taken. */
  onChunkEnd: () => void = () => {};

  /** Starts `node` with these arguments. */
  constructor(args: readonly string[], options: RawClientOptions) {
    const { cwd, silenceMs, heapProbe: isProbed = false, isPinned = false } = options;
    // Flags of whoever runs the benchmark are no business of the servers'.
    const env = { ...process.env, NODE_OPTIONS: '' };
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', ...(isProbed ? (['ipc'] as const) : [])];
    const allArgs = isProbed ? [...heapProbe, ...args] : args;
    const command = [process.execPath, ...allArgs] as const;
    const [program, ...given] = isPinned ? pinned(command) : command;
    this.#child = spawn(program, given, { cwd, env, stdio }) as Server;
    this.broken = new Promise((_resolve, reject) => {
      this.#break = reject;
    });
    // Whoever waits for something races it against this; between two measures nobody does.
    this.broken.catch(() => {});
    this.#child.stdin.on('error', (error) => this.fail(`its input broke: ${error.message}`));
    this.#child.stderr.on('data', (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString()).slice(-2_000);
    });
    this.#child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        if (this.#state !== 'closing') this.fail(`it ended with ${signal ?? code}`);
        resolve();
      });
    });
    this.#watch = setInterval(() => this.#checkSilence(silenceMs), 500);
  }

  /** What the server's process has used, milliseconds. */
  get cpuMs(): number {
    return cpuMsOf(this.#child.pid ?? 0) ?? Number.NaN;
  }

  /** What the server's process holds, bytes. */
  get rssBytes(): number {
    return rssBytesOf(this.#child.pid ?? 0) ?? Number.NaN;
  }

  /** What is left of the heap of a server with a heap probe once all garbage is collected, bytes. */
  async liveHeapBytes(): Promise<number> {
    this.#child.send('');
    const [{ heapBytes }] = (await once(this.#child, 'message')) as [
      { readonly heapBytes: number },
    ];
    return heapBytes;
  }

  /** Breaks the client: what is measured has failed, and why. */
  fail(why: string): void {
    const lines = this.#stderr.trim().split('\n');
    const said = lines.findLast((line) => line.includes('Error')) ?? lines.at(-1) ?? '';
    this.#break(new Error(said === '' ? why : `${why}; stderr: ${said.slice(0, 300)}`));
  }

  /** Writes messages with one write. */
  write(messages: readonly object[]): void {
    this.#heardAt = performance.now();
    this.#child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  }

  /** Text of requests, whose answers go to `settle`; the caller writes it with {@link writeText}. */
  encode(requests: readonly Asked[], settle: (result: unknown, at: number) => void): string {
    const lines = requests.map(({ method, params }, at) => {
      const id = this.#nextId++;
      this.#pending.set(id, (result) => settle(result, at));
      return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
    });
    return lines.join('');
  }

  writeText(text: string): void {
    this.#heardAt = performance.now();
    this.#child.stdin.write(text);
  }

  /** Sends a request and checks its answer. */
  async request(asked: Asked, check: Check): Promise<void> {
    await new Promise<void>((resolve) => {
      this.writeText(
        this.encode([asked], (result) => {
          const fault = check(result);
          if (fault === undefined) resolve();
          else this.fail(`${asked.method} was answered wrongly: ${fault}`);
        }),
      );
    });
  }

  /** Sends requests that will be cancelled; gives their ids. */
  sendToCancel(requests: readonly Asked[]): readonly number[] {
    const first = this.#nextId;
    this.writeText(
      this.encode(requests, () => this.fail('a request was answered that cannot have been')),
    );
    return requests.map((_, at) => first + at);
  }

  /** Cancels requests; what the server says to them from now on is of no interest. */
  cancel(ids: readonly number[]): void {
    for (const requestId of ids) {
      this.#pending.delete(requestId);
      this.#given.add(requestId);
    }
    this.write(
      ids.map((requestId) => ({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId, reason: 'of no use any more' },
      })),
    );
  }

  /** Stops reading what the server says. */
  hold(): void {
    this.#state = 'held';
    this.#child.stdout.pause();
  }

  resume(): void {
    this.#state = 'open';
    this.#heardAt = performance.now();
    this.#child.stdout.resume();
  }

  /** Ends the input, and the process where it does not end by itself. */
  async close(): Promise<void> {
    this.#state = 'closing';
    clearInterval(this.#watch);
    this.#child.stdout.resume();
    this.#child.stdin.end();
    await Promise.race([this.#exited, delay(exitMs, undefined, { ref: false })]);
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #read(chunk: Buffer): void {
    this.receivedAt = this.#heardAt = performance.now();
    const last = chunk.lastIndexOf(lineFeed);
    if (last === -1) {
      this.#pieces.push(chunk);
      return;
    }
    this.#pieces.push(chunk.subarray(0, last));
    const lines = Buffer.concat(this.#pieces).toString().split('\n');
    this.#pieces = last + 1 < chunk.length ? [chunk.subarray(last + 1)] : [];
    for (const line of lines) this.#take(line);
    this.onChunkEnd();
  }

  #take(line: string): void {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      return this.fail(`a line on stdout is no JSON: ${line.slice(0, 200)}`);
    }
    const { id, method } = message;
    if (method === undefined) this.#settle(message);
    else if (id !== undefined) this.onRequest(id, method);
  }

  #settle({ id, result, error }: Message): void {
    const settle = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (typeof id !== 'number' || !settle) {
      if (typeof id !== 'number' || !this.#given.has(id)) {
        this.fail(`an answer to nothing: id ${id}, ${JSON.stringify(error)?.slice(0, 200)}`);
      }
      return;
    }
    this.#pending.delete(id);
    if (error === undefined) settle(result);
    else this.fail(`an error: ${JSON.stringify(error).slice(0, 200)}`);
  }

  #checkSilence(silenceMs: number): void {
    if (this.#pending.size === 0 || this.#state !== 'open') return;
    if (performance.now() - this.#heardAt < silenceMs) return;
    this.fail(`it hangs: nothing for ${silenceMs / 1000} s, ${this.#pending.size} unanswered`);
  }
}
