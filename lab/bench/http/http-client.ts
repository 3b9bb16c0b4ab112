/**
 * A client of an HTTP endpoint with nothing between it and the bytes. It checks every answer: a wrong status, an id that was not asked, two
 * answers, an error, a content that is not what was expected, each breaks it, and with it the measure.
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
  /** Without a byte from the server for so long, while something is awaited, the server counts as hanging. */
  readonly silenceMs: number;
  /** Where it listens, if it does not say so itself on stdout. */
  readonly url?: string;
}

/** What a session's requests carry. */
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
  /** The last of the answers to requests on GET streams, and the connection that they take. */
  #answered: Promise<void> = Promise.resolve();
  #answering: Connection | undefined = undefined;
  #port = 0;
  #path = '/';
  #nextId = 1;
  #unanswered = 0;
  /** When the last answer was complete, in `performance.now()` milliseconds. */
  receivedAt = 0;

  /** Starts `node` with these arguments; resolves when the server has said where it listens. */
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

  /** Rejects when the server has died, hangs, or has said something wrong. Never resolves. */
  get broken(): Promise<never> {
    return this.#server.broken;
  }

  /** Where the server listens. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#path}`;
  }

  /** What the server's process has used, milliseconds. */
  get cpuMs(): number {
    return this.#server.cpuMs;
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
  readonly fail = (why: string): void => this.#server.fail(why);

  /** A connection that the caller closes, or that ends with the client. */
  async connect(): Promise<Connection> {
    const connection = await Connection.open(this.#port, this.fail);
    this.#connections.push(connection);
    return connection;
  }

  async connections(count: number): Promise<readonly Connection[]> {
    const opened: Connection[] = [];
    // One after the other: the kernel's queue of those not yet accepted is short.
    while (opened.length < count) opened.push(await this.connect());
    return opened;
  }

  /** A new session, which knows its tools. */
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

  /** `initialize` alone. */
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

  /** DELETE. */
  async end(connection: Connection, session: Session): Promise<void> {
    await this.#exchange(connection, `${this.#head('DELETE', session)}\r\n`, [200, 202, 204]);
  }

  /** Sends a request and checks its answer. */
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
   * Sends a request. Its result goes to `settle` when the answer's body has ended, so that the connection is free for the next one; all other
   * messages of its stream go to `onOther`, and break the client where there is none. Without a session it is a request of 2026-07-28, or
   * `initialize`.
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

  /** Sends a request whose answer nobody looks at. The connection is of no use after that. */
  askBlindly(connection: Connection, session: Session, asked: Asked): void {
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#nextId++, ...asked });
    connection.exchange(`${this.#head('POST', session, asked)}${framed(body)}`, {
      head() {},
      body() {},
      end() {},
    });
  }

  /** Sends what has no answer: a notification, or an answer of ours. Resolves when the server has accepted it. */
  tell(connection: Connection, session: Session, message: object): Promise<void> {
    const request = `${this.#head('POST', session)}${framed(JSON.stringify(message))}`;
    return this.#exchange(connection, request, [202]);
  }

  /**
   * Opens the session's GET stream; resolves when the server has begun to answer. If the server asks there for the roots, it is answered on a
   * connection of its own, as everything else would be if it were busy.
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

  /** The status of a request that may be refused. */
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

/** Resolves when the port of this URL accepts a connection. */
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

/** What is wrong with an answer; undefined if nothing is. */
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

/** A body with the fields that describe it, and the empty line between. */
function framed(body: string): string {
  return `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
