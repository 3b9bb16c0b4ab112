/** Client of a soak test: counts requests and responses, and may stop reading. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import type { Vitals } from './vitals.ts';

export interface Answer {
  readonly result?: unknown;
  readonly error?: unknown;
}

interface Message extends Answer {
  readonly id?: unknown;
  readonly method?: string;
}

type Server = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };

/** Time after which a call counts as unanswered. The longest search takes ten seconds. */
const patienceMs = 60_000;

export class SoakClient {
  readonly #server: Server;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  readonly #exit: Promise<string>;
  #nextId = 1;
  readonly counts = { asked: 0, answered: 0, refused: 0, cancelled: 0, raw: 0 };
  /** Answers the server's requests. */
  onRequest: (id: unknown, method: string) => void = () => {};
  longestPingMs = 0;

  /** @param mark environment variable for finding everything the server starts */
  constructor(command: string, args: readonly string[], mark: { readonly [name: string]: string }) {
    const probe = fileURLToPath(new URL('probe.cjs', import.meta.url));
    const flags = ['--expose-gc', '--require', probe];
    this.#server = spawn(process.execPath, [...flags, command, ...args], {
      env: { ...process.env, NODE_OPTIONS: '', ...mark },
      stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    }) as Server;
    this.#exit = once(this.#server, 'exit').then(([code, signal]) => String(signal ?? code));
    // A broken input is reported by the exit status at the end.
    this.#server.stdin.on('error', () => {});
    createInterface({ input: this.#server.stdout }).on('line', (line) => this.#take(line));
  }

  /**
   * Resolves to the response, including errors.
   *
   * @throws {Error} if none arrives in time
   */
  async request(method: string, params: object = {}): Promise<Answer> {
    const id = this.#ask(method, params);
    let timer: NodeJS.Timeout | undefined = undefined;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#pending.set(id, resolve);
      const fault = `UNANSWERED for ${patienceMs / 1000} s: ${method} ${JSON.stringify(params).slice(0, 200)}`;
      timer = setTimeout(() => reject(new Error(fault)), patienceMs);
    });
    const gone = this.#exit.then((exit) => {
      throw new Error(`THE SERVER HAS ENDED (${exit}) during ${method}`);
    });
    try {
      return await Promise.race([answer, gone]);
    } finally {
      clearTimeout(timer);
    }
  }

  call(name: string, args: object = {}): Promise<Answer> {
    return this.request('tools/call', { name, arguments: args });
  }

  /** Sends a call and cancels it at once; a response may arrive nevertheless. */
  callAndCancel(name: string, args: object, more: object = {}): void {
    this.askAndCancel('tools/call', { ...more, name, arguments: args });
  }

  /** See {@link SoakClient.callAndCancel}. */
  askAndCancel(method: string, params: object): void {
    const requestId = this.#ask(method, params);
    this.counts.cancelled++;
    this.notify('notifications/cancelled', { requestId });
  }

  async ping(): Promise<void> {
    const sentAt = performance.now();
    await this.request('ping');
    this.longestPingMs = Math.max(this.longestPingMs, performance.now() - sentAt);
  }

  notify(method: string, params: object = {}): void {
    this.send({ jsonrpc: '2.0', method, params });
  }

  send(message: object): void {
    this.#server.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Writes invalid input. */
  raw(line: string | Buffer): void {
    this.counts.raw++;
    this.#server.stdin.write(line);
    this.#server.stdin.write('\n');
  }

  /** Stops reading until resumed. */
  hold(): void {
    this.#server.stdout.pause();
  }

  resume(): void {
    this.#server.stdout.resume();
  }

  /** Resources of the server after garbage collection. */
  async vitals(): Promise<Vitals> {
    this.#server.send('');
    const [vitals] = (await once(this.#server, 'message')) as [Vitals];
    return vitals;
  }

  /**
   * Ends the input. Resolves to the server's exit status; a server that does not exit is killed.
   */
  async close(): Promise<string> {
    this.#server.stdin.end();
    const overdue = setTimeout(() => this.#server.kill('SIGKILL'), 10_000);
    const exit = await this.#exit;
    clearTimeout(overdue);
    return exit;
  }

  #ask(method: string, params: object): number {
    const id = this.#nextId++;
    this.counts.asked++;
    this.send({ jsonrpc: '2.0', id, method, params });
    return id;
  }

  #take(line: string): void {
    const { id, method, ...answer } = JSON.parse(line) as Message;
    if (method !== undefined) {
      if (id !== undefined) this.onRequest(id, method);
      return;
    }
    if (typeof id !== 'number') return;
    this.counts.answered++;
    if (answer.error !== undefined) this.counts.refused++;
    this.#pending.get(id)?.(answer);
    this.#pending.delete(id);
  }
}
