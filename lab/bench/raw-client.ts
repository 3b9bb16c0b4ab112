/**
 * A client with nothing between it and the bytes. It checks every answer: an id that was not asked, an id answered twice, an error,
 * a content that is not what was expected, each breaks it, and with it the measure.
 */
import { ServerProcess, SilenceWatch } from './server-process.ts';
import type { ServerOptions } from './server-process.ts';

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

export interface RawClientOptions extends ServerOptions {
  /** Without a byte from the server for so long, while something is awaited, the server counts as hanging. */
  readonly silenceMs: number;
}

export class RawClient {
  readonly #server: ServerProcess;
  readonly #watch: SilenceWatch;
  readonly #pending = new Map<number, (result: unknown) => void>();
  /** Cancelled requests: an answer to one may still come. */
  readonly #given = new Set<number>();
  #pieces: Buffer[] = [];
  #nextId = 1;
  #state: 'open' | 'held' | 'closing' = 'open';
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
    this.#server = new ServerProcess(args, options);
    this.#server.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#watch = new SilenceWatch(this.#server, options.silenceMs, () =>
      this.#state === 'open' ? this.#pending.size : 0,
    );
  }

  /** Rejects when the server has died, hangs, or has said something wrong. Never resolves. */
  get broken(): Promise<never> {
    return this.#server.broken;
  }

  /** What the server's process has used, milliseconds. */
  get cpuMs(): number {
    return this.#server.cpuMs;
  }

  /** What the server's process has used, and all that it has started, milliseconds. */
  get familyCpuMs(): number {
    return this.#server.familyCpuMs;
  }

  /** What the server's process holds, bytes. */
  get rssBytes(): number {
    return this.#server.rssBytes;
  }

  /** What is left of the heap of a server with a heap probe once all garbage is collected, bytes. */
  liveHeapBytes(): Promise<number> {
    return this.#server.liveHeapBytes();
  }

  /** Breaks the client: what is measured has failed, and why. */
  fail(why: string): void {
    this.#server.fail(why);
  }

  /** Writes messages with one write. */
  write(messages: readonly object[]): void {
    this.#watch.heard(performance.now());
    this.#server.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
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
    this.#watch.heard(performance.now());
    this.#server.stdin.write(text);
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
    this.#server.stdout.pause();
  }

  resume(): void {
    this.#state = 'open';
    this.#watch.heard(performance.now());
    this.#server.stdout.resume();
  }

  /** Ends the input, and the process where it does not end by itself. */
  async close(): Promise<void> {
    this.#state = 'closing';
    this.#watch.stop();
    await this.#server.close();
  }

  #read(chunk: Buffer): void {
    this.receivedAt = performance.now();
    this.#watch.heard(this.receivedAt);
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
}
