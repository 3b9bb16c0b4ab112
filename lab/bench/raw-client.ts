/**
 * Raw client that checks every response: an unknown or repeated id, an error or unexpected content
 * breaks it, and with it the measurement.
 */
import { ServerProcess, SilenceWatch } from './server-process.ts';
import type { ServerOptions } from './server-process.ts';

/** A received message; each measure checks the parts it uses. */
export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: object;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** A request without its id. */
export interface Asked {
  readonly method: string;
  readonly params?: object;
}

/** Checks a result; returns undefined or the fault. */
export type Check = (result: unknown) => string | undefined;

const lineFeed = 0x0a;
const ownRoots = [{ uri: 'file:///bench', name: 'bench' }];

export interface RawClientOptions extends ServerOptions {
  /** Silence, while responses are pending, after which the server counts as hung. */
  readonly silenceMs: number;
}

export class RawClient {
  readonly #server: ServerProcess;
  readonly #watch: SilenceWatch;
  readonly #pending = new Map<number, (result: unknown) => void>();
  /** Cancelled requests, to which a response may still arrive. */
  readonly #given = new Set<number>();
  #pieces: Buffer[] = [];
  #nextId = 1;
  #state: 'open' | 'held' | 'closing' = 'open';
  /** Arrival time of the current chunk on the `performance.now()` clock. */
  receivedAt = 0;
  /** Handles the server's requests. By default, only roots are answered. */
  onRequest: (id: number | string, method: string) => void = (id, method) => {
    if (method === 'roots/list') this.write([{ jsonrpc: '2.0', id, result: { roots: ownRoots } }]);
    else this.fail(`an unexpected request of the server: ${method}`);
  };
  /** Called after each chunk, when all its messages have been handled. */
  onChunkEnd: () => void = () => {};

  /** Starts `node` with these arguments. */
  constructor(args: readonly string[], options: RawClientOptions) {
    this.#server = new ServerProcess(args, options);
    this.#server.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#watch = new SilenceWatch(this.#server, options.silenceMs, () =>
      this.#state === 'open' ? this.#pending.size : 0,
    );
  }

  /** Rejects when the server dies, hangs or misbehaves. Never resolves. */
  get broken(): Promise<never> {
    return this.#server.broken;
  }

  /** CPU time of the server's process, ms. */
  get cpuMs(): number {
    return this.#server.cpuMs;
  }

  /** CPU time of the server's process and its descendants, ms. */
  get familyCpuMs(): number {
    return this.#server.familyCpuMs;
  }

  /** Resident memory of the server's process, bytes. */
  get rssBytes(): number {
    return this.#server.rssBytes;
  }

  /** Live heap of a server with a heap probe after garbage collection, bytes. */
  liveHeapBytes(): Promise<number> {
    return this.#server.liveHeapBytes();
  }

  /** Breaks the client and fails the measurement with a reason. */
  fail(why: string): void {
    this.#server.fail(why);
  }

  /** Writes messages in one write. */
  write(messages: readonly object[]): void {
    this.#watch.heard(performance.now());
    this.#server.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  }

  /**
   * Encodes requests whose responses go to `settle`; the caller writes the text with {@link
   * writeText}.
   */
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

  /** Sends a request and checks its response. */
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

  /** Sends requests to be cancelled; returns their ids. */
  sendToCancel(requests: readonly Asked[]): readonly number[] {
    const first = this.#nextId;
    this.writeText(
      this.encode(requests, () => this.fail('a request was answered that cannot have been')),
    );
    return requests.map((_, at) => first + at);
  }

  /** Cancels requests and ignores later messages about them. */
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

  /** Stops reading the server's output. */
  hold(): void {
    this.#state = 'held';
    this.#server.stdout.pause();
  }

  resume(): void {
    this.#state = 'open';
    this.#watch.heard(performance.now());
    this.#server.stdout.resume();
  }

  /** Ends the input, and kills the process if it does not exit. */
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
