/**
 * Raw client of an HTTP endpoint that checks every response: a wrong status, an unknown or repeated
 * id, an error or unexpected content breaks it, and with it the measurement.
 */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { areNamed, initialize, isIntroduction, listTools } from '../conversation.ts';
import { rootsAnswer } from '../measures/asking.ts';
import type { Asked, Check, Message } from '../raw-client.ts';
import { ServerProcess, SilenceWatch } from '../server-process.ts';
import type { ServerOptions } from '../server-process.ts';
import { Connection } from './connection.ts';
import { MessageReader } from './message-reader.ts';

export interface HttpClientOptions extends ServerOptions {
  /** Silence, while responses are pending, after which the server counts as hung. */
  readonly silenceMs: number;
  /** The server's URL, if it does not print it on stdout. */
  readonly url?: string;
}

/** Headers of a session's requests. */
export interface Session {
  readonly id: string;
  readonly revision: string;
}

const modernRevision = '2026-07-28';
const tools = areNamed('echo', 'notify', 'roots', 'sample');

export class HttpClient {
  readonly #server: ServerProcess;
  readonly #watch: SilenceWatch;
  readonly #connections: Connection[] = [];
  /** Tail of the queue of answers to requests on GET streams, and their connection. */
  #answered: Promise<void> = Promise.resolve();
  #answering: Connection | undefined = undefined;
  #port = 0;
  #path = '/';
  #nextId = 1;
  #unanswered = 0;
  /** Completion time of the last response on the `performance.now()` clock. */
  receivedAt = 0;

  /** Starts `node` with these arguments; resolves when the server has printed its URL. */
  static async start(args: readonly string[], options: HttpClientOptions): Promise<HttpClient> {
    const client = new HttpClient(args, options);
    try {
      await Promise.race([client.#listening(options.url), client.broken]);
    } catch (error) {
      await client.close();
      throw error;
    }
    return client;
  }

  private constructor(
    args: readonly string[],
    { silenceMs, url: _, ...options }: HttpClientOptions,
  ) {
    const env = { PORT: '0', ...options.env };
    this.#server = new ServerProcess(args, { ...options, env });
    this.#watch = new SilenceWatch(this.#server, silenceMs, () => this.#unanswered);
  }

  /** Rejects when the server dies, hangs or misbehaves. Never resolves. */
  get broken(): Promise<never> {
    return this.#server.broken;
  }

  /** The server's URL. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#path}`;
  }

  /** CPU time of the server's process, ms. */
  get cpuMs(): number {
    return this.#server.cpuMs;
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
  readonly fail = (why: string): void => this.#server.fail(why);

  /** Opens a connection, closed by the caller or with the client. */
  async connect(): Promise<Connection> {
    const connection = await Connection.open(this.#port, this.fail);
    this.#connections.push(connection);
    return connection;
  }

  async connections(count: number): Promise<readonly Connection[]> {
    const opened: Connection[] = [];
    // One at a time, because the kernel's accept queue is short.
    while (opened.length < count) opened.push(await this.connect());
    return opened;
  }

  /** Begins a session and lists its tools. */
  async greet(connection: Connection): Promise<Session> {
    const session = await this.begin(connection);
    await this.tell(connection, session, {
      jsonrpc: '2.0',
      method: 'notifications/initialized',
    });
    await this.request(connection, session, listTools, tools);
    return session;
  }

  async sessions(connection: Connection, count: number): Promise<readonly Session[]> {
    const sessions: Session[] = [];
    while (sessions.length < count) sessions.push(await this.greet(connection));
    return sessions;
  }

  /** Sends `initialize` only. */
  begin(connection: Connection): Promise<Session> {
    return new Promise((resolve) => {
      let id: string | undefined = undefined;
      this.ask(connection, undefined, initialize, {
        onHead: (_status, headers) => {
          id = headers.get('mcp-session-id');
        },
        settle: (result) => {
          const fault = isIntroduction(result);
          if (fault !== undefined) return this.fail(fault);
          if (id === undefined) return this.fail('initialize was answered without a session id');
          const { protocolVersion } = result as { readonly protocolVersion: string };
          resolve({ id, revision: protocolVersion });
        },
      });
    });
  }

  /** Sends DELETE. */
  async end(connection: Connection, session: Session): Promise<void> {
    await this.#exchange(connection, `${this.#head('DELETE', session)}\r\n`, [200, 202, 204]);
  }

  /** Sends a request and checks its response. */
  request(
    connection: Connection,
    session: Session | undefined,
    asked: Asked,
    check: Check,
  ): Promise<void> {
    return new Promise((resolve) => {
      this.ask(connection, session, asked, {
        settle: (result) => {
          const fault = check(result);
          if (fault === undefined) resolve();
          else this.fail(`${asked.method} was answered wrongly: ${fault}`);
        },
      });
    });
  }

  /**
   * Sends a request. `settle` gets the result when the response body has ended, so that the
   * connection is free again. Other messages of the stream go to `onOther`, and break the client
   * without one. Without a session, the request is of 2026-07-28 or `initialize`.
   */
  ask(
    connection: Connection,
    session: Session | undefined,
    asked: Asked,
    hearing: {
      settle(result: unknown): void;
      onHead?(status: number, headers: ReadonlyMap<string, string>): void;
      onOther?(message: Message): void;
      onChunkEnd?(): void;
    },
  ): void {
    const id = this.#nextId++;
    const body = JSON.stringify({ jsonrpc: '2.0', id, ...asked });
    let answer: Message | undefined = undefined;
    this.#sent();
    connection.exchange(
      `${this.#head('POST', session, asked)}${framed(body)}`,
      new MessageReader({
        ...hearing,
        onMessage: (message) => {
          this.#watch.heard(performance.now());
          if (message.method === undefined) {
            if (answer !== undefined) return this.fail('a request was answered twice');
            answer = message;
          } else if (hearing.onOther) hearing.onOther(message);
          else this.fail(`an unexpected message of the server: ${message.method}`);
        },
        onEnd: (status, rest) => {
          this.#heard();
          const fault = faultOf(answer, id, status, rest);
          if (fault === undefined) hearing.settle(answer?.result);
          else this.fail(`${asked.method}: ${fault}`);
        },
        onFault: this.fail,
      }),
    );
  }

  /** Sends a request and ignores the response. The connection is unusable afterwards. */
  askBlindly(connection: Connection, session: Session, asked: Asked): void {
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#nextId++, ...asked });
    connection.exchange(`${this.#head('POST', session, asked)}${framed(body)}`, {
      head() {},
      body() {},
      end() {},
    });
  }

  /** Sends a notification or response. Resolves when the server has accepted it. */
  tell(connection: Connection, session: Session, message: object): Promise<void> {
    const request = `${this.#head('POST', session)}${framed(JSON.stringify(message))}`;
    return this.#exchange(connection, request, [202]);
  }

  /**
   * Opens the session's GET stream; resolves when the response has begun. If the server queries the
   * roots there, they are answered on a separate connection, as everything else would be if it were
   * busy.
   */
  listen(
    connection: Connection,
    session: Session,
    onMessage: (message: Message) => void,
  ): Promise<void> {
    return this.#open(connection, session, (message) => {
      this.#watch.heard(performance.now());
      const { id, method } = message;
      if (id === undefined || method !== 'roots/list') return onMessage(message);
      this.#answered = this.#answered.then(() => this.#answerRoots(session, id));
    });
  }

  /** Status of a request that may be rejected. */
  statusOf(connection: Connection, session: Session, asked: Asked): Promise<number> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#nextId++, ...asked });
    const request = `${this.#head('POST', session, asked)}${framed(body)}`;
    return new Promise((resolve) => {
      this.#sent();
      connection.exchange(
        request,
        new MessageReader({
          onMessage: () => {},
          onEnd: (status) => {
            this.#heard();
            resolve(status);
          },
          onFault: this.fail,
        }),
      );
    });
  }

  async close(): Promise<void> {
    this.#watch.stop();
    for (const connection of this.#connections) connection.close();
    await this.#server.close('SIGTERM');
  }

  #exchange(connection: Connection, request: string, statuses: readonly number[]): Promise<void> {
    return new Promise((resolve) => {
      this.#sent();
      connection.exchange(
        request,
        new MessageReader({
          onMessage: (message) => this.fail(`unexpected: ${JSON.stringify(message).slice(0, 200)}`),
          onEnd: (status, rest) => {
            this.#heard();
            if (statuses.includes(status)) resolve();
            else this.fail(`${request.slice(0, 40)} was answered with ${status} ${rest}`);
          },
          onFault: this.fail,
        }),
      );
    });
  }

  async #answerRoots(session: Session, id: string | number): Promise<void> {
    this.#answering ??= await this.connect();
    await this.tell(this.#answering, session, rootsAnswer(id, 1));
  }

  #open(
    connection: Connection,
    session: Session,
    onMessage: (message: Message) => void,
  ): Promise<void> {
    return new Promise((resolve) => {
      this.#sent();
      connection.exchange(
        `${this.#head('GET', session)}\r\n`,
        new MessageReader({
          onHead: (status) => {
            this.#heard();
            if (status === 200) resolve();
            else this.fail(`GET was answered with ${status}`);
          },
          onMessage,
          onEnd: () => this.fail('a GET stream has ended'),
          onFault: this.fail,
        }),
      );
    });
  }

  /** Request line and header fields, without the empty line. */
  #head(method: 'POST' | 'GET' | 'DELETE', session: Session | undefined, asked?: Asked): string {
    const accept = method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream';
    const head = `${method} ${this.#path} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nAccept: ${accept}\r\n`;
    if (session) {
      return `${head}Mcp-Session-Id: ${session.id}\r\nMCP-Protocol-Version: ${session.revision}\r\n`;
    }
    if (asked === undefined || asked.method === initialize.method) return head;
    const { name } = (asked.params ?? {}) as { readonly name?: string };
    const named = name === undefined ? '' : `Mcp-Name: ${name}\r\n`;
    return `${head}MCP-Protocol-Version: ${modernRevision}\r\nMcp-Method: ${asked.method}\r\n${named}`;
  }

  #sent(): void {
    this.#unanswered += 1;
    this.#watch.heard(performance.now());
  }

  #heard(): void {
    this.#unanswered -= 1;
    this.receivedAt = performance.now();
    this.#watch.heard(this.receivedAt);
  }

  async #listening(given: string | undefined): Promise<void> {
    const url = new URL(given ?? String(await once(this.#server.stdout, 'data')).trim());
    if (given !== undefined) await accepting(url);
    this.#port = Number(url.port);
    this.#path = url.pathname;
    this.#server.stdout.resume();
  }
}

/** Resolves when the URL's port accepts a connection. */
export async function accepting(url: URL): Promise<void> {
  for (;;) {
    const attempt = createConnection({ port: Number(url.port), host: url.hostname });
    const isOpen = await once(attempt, 'connect').then(
      () => true,
      () => false,
    );
    attempt.destroy();
    if (isOpen) return;
    await delay(5);
  }
}

/** Fault of a response; undefined if valid. */
function faultOf(
  answer: Message | undefined,
  id: number,
  status: number,
  rest: string,
): string | undefined {
  if (answer === undefined) return `no answer, status ${status} ${rest.slice(0, 200)}`;
  if (answer.error !== undefined) {
    return `status ${status}, an error: ${JSON.stringify(answer.error).slice(0, 200)}`;
  }
  if (answer.id !== id) return `the answer of another request: ${answer.id} instead of ${id}`;
  return status === 200 ? undefined : `an answer with status ${status}`;
}

/** A body preceded by its headers and the empty line. */
function framed(body: string): string {
  return `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
