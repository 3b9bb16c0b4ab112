/**
 * The broken server over Streamable HTTP, with faults of its own. Shares no code with the project.
 * Some words select valid variants instead of faults: `events` (responds with resumable streams),
 * `no-get`, `no-delete`, `sessionless`, `polls` (closes a stream before the answer, so that the
 * client must resume).
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { brokenServer } from './broken-server.mjs';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly [member: string]: unknown };
}

/** An SSE stream, which may outlive its connection. */
interface Stream {
  readonly name: string;
  readonly log: { readonly id: string; readonly text: string }[];
  response: ServerResponse | undefined;
}

export interface BrokenHttp {
  readonly url: URL;
  /** Number of requests by method. */
  readonly seen: Map<string, number>;
  /** Headers of the last request. */
  readonly last: () => IncomingMessage['headers'];
  /** Number of sessions not ended by a client. */
  readonly sessions: () => number;
  /** Resolves once this many sessions exist. */
  greeted(count: number): Promise<void>;
  /** Holds responses to initialize until the returned function is called. */
  holdGreetings(): () => void;
  close(): Promise<void>;
}

export async function listenBroken(faults: readonly string[]): Promise<BrokenHttp> {
  const sessions = new Map<string, Session>();
  const seen = new Map<string, number>();
  let headers: IncomingMessage['headers'] = {};
  let greetings = 0;
  let held: Promise<void> | undefined;
  const http = createServer((request, response) => {
    headers = request.headers;
    seen.set(`${request.method}`, (seen.get(`${request.method}`) ?? 0) + 1);
    const isGreeting = request.headers['mcp-session-id'] === undefined;
    if (isGreeting) greetings++;
    void bodyOf(request).then(async (body) => {
      if (isGreeting) await held;
      serve(faults, sessions, request, response, body);
    });
  });
  const url = await listening(http);
  return {
    url,
    seen,
    last: () => headers,
    sessions: () => sessions.size,
    greeted: async (count) => {
      while (greetings < count) await once(http, 'request');
    },
    holdGreetings: () => {
      let release = (): void => {};
      held = new Promise((resolve) => (release = resolve));
      return release;
    },
    close: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

export async function listening(http: Server): Promise<URL> {
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

class Session {
  readonly id: string;
  readonly has: (fault: string) => boolean;
  readonly #core: ReturnType<typeof brokenServer>;
  /** Callbacks for pending responses, by request id. */
  readonly #waiting = new Map<string, (message: object) => void>();
  readonly #streams: Stream[] = [];
  /** Messages sent before there was a stream for them. */
  #unsaid: object[] = [];
  #events = 0;

  constructor(id: string, faults: readonly string[]) {
    this.id = id;
    this.has = (fault) => faults.includes(fault);
    this.#core = brokenServer(faults, {
      write: (text) => {
        for (const line of text.split('\n').filter((each) => each !== '')) {
          this.#say(JSON.parse(line) as Message);
        }
      },
      exit: () => {},
    });
  }

  #say(message: Message): void {
    const listening = this.#streams.filter(({ name }) => name.startsWith('get'));
    const answer = this.#waiting.get(JSON.stringify(message.id));
    if (message.method === undefined && answer) {
      if (this.has('answers-on-get') && listening[0]) this.#send(listening[0], message);
      return answer(message);
    }
    const token = message.params?.['progressToken'];
    const call = this.#streams.find(
      ({ name }) => `progress-${name.slice('post-'.length)}` === token,
    );
    if (call && !this.has('progress-on-get')) return this.#send(call, message);
    // Messages of a call cannot be sent without its stream.
    if (token !== undefined && !this.has('events')) return;
    if (listening.length === 0) return void this.#unsaid.push(message);
    const chosen = this.has('broadcasts') ? listening : listening.slice(-1);
    for (const stream of chosen) this.#send(stream, message);
  }

  #send(stream: Stream, message: object): void {
    const id = this.has('same-event-ids') ? String(stream.log.length) : String(++this.#events);
    const text = this.has('empty-events') ? 'nothing' : JSON.stringify(message);
    stream.log.push({ id, text });
    stream.response?.write(`id: ${id}\ndata: ${text}\n\n`);
  }

  receive(line: string): void {
    this.#core.receive(`${line}\n`);
  }

  /** Answers a request once its response exists. */
  answer(request: Message, response: ServerResponse, headers: { [name: string]: string }): void {
    const key = JSON.stringify(request.id);
    if (!this.has('events')) {
      this.#waiting.set(key, (message) => {
        const type = this.has('text') ? 'text/plain' : 'application/json';
        response.writeHead(200, { ...headers, 'content-type': type }).end(JSON.stringify(message));
      });
      return;
    }
    const stream: Stream = { name: `post-${key}`, log: [], response };
    this.#streams.push(stream);
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    if (!this.has('unprimed')) {
      const id = String(++this.#events);
      stream.log.push({ id, text: '' });
      response.write(`id: ${id}\ndata:\n\n`);
    }
    if (this.has('polls') && request.method === 'tools/call') {
      response.end('retry: 5\n\n');
      stream.response = undefined;
    }
    this.#waiting.set(key, (message) => {
      const other = this.#streams.find(
        ({ name, response: open }) =>
          name.startsWith('post-') && name !== stream.name && open?.writableEnded === false,
      );
      this.#send((this.has('answers-elsewhere') ? other : undefined) ?? stream, message);
      if (!this.has('stays-open')) stream.response?.end();
    });
  }

  listen(response: ServerResponse, lastId: string | undefined): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const replayed = this.#streams.find(({ log }) => log.some(({ id }) => id === lastId));
    const stream = replayed ?? { name: `get-${this.#streams.length}`, log: [], response };
    stream.response = response;
    if (!replayed) this.#streams.push(stream);
    response.on('close', () => {
      if (stream.response === response) this.#streams.splice(this.#streams.indexOf(stream), 1);
    });
    const sources = this.has('replays-all') ? this.#streams : [stream];
    for (const { id, text } of sources.flatMap(({ log }) => log)) {
      if (Number(id) > Number(lastId)) response.write(`id: ${id}\ndata: ${text}\n\n`);
    }
    const isDone =
      replayed?.name.startsWith('post-') && stream.log.some(({ text }) => /"result"/.test(text));
    if (isDone) response.end();
    for (const message of this.#unsaid.splice(0)) this.#say(message);
  }
}

function serve(
  faults: readonly string[],
  sessions: Map<string, Session>,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): void {
  const has = (fault: string) => faults.includes(fault);
  const refuse = (status: number, text = 'refused') =>
    void response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
  const { origin, 'mcp-session-id': id, 'mcp-protocol-version': version } = request.headers;
  if (origin !== undefined && !has('any-origin')) return refuse(403);
  if (has('refuses-big') && body.length > 1_000_000) {
    const error = { code: -32_000, message: 'Payload too large' };
    response.writeHead(413, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
  }
  const message = read(body);
  const isGreeting = message?.method === 'initialize';
  const wanted = has('sessionless') ? 'the-one' : (id as string | undefined);
  if (isGreeting || (has('sessionless') && !sessions.has('the-one'))) {
    const session = new Session(has('sessionless') ? 'the-one' : randomUUID(), faults);
    sessions.set(session.id, session);
    const given = has('spaced-id') ? `a b ${session.id}` : session.id;
    const headers: { [name: string]: string } = has('sessionless')
      ? {}
      : { 'mcp-session-id': given };
    session.answer(message ?? {}, response, headers);
    return session.receive(body);
  }
  const strange = has('adopts') ? [...sessions.values()].at(-1) : undefined;
  if (wanted === undefined && !strange) return refuse(has('404-without-session') ? 404 : 400);
  const session = sessions.get(String(wanted).replace(/^a b /, '')) ?? strange;
  if (!session) return refuse(404);
  if (version === '1999-01-01' && !has('any-version')) return refuse(400);
  if (request.method === 'DELETE') {
    if (has('no-delete')) return refuse(405);
    if (!has('immortal')) sessions.delete(session.id);
    return void response.writeHead(204).end();
  }
  if (request.method === 'GET') {
    if (has('no-get')) return refuse(405);
    if (has('hello-get')) return void response.end('hello');
    return session.listen(response, request.headers['last-event-id'] as string | undefined);
  }
  if (message?.id !== undefined && message.method !== undefined) {
    if (has('busy') && message.method === 'tools/list') return refuse(429);
    if (has('drops-lists') && message.method === 'tools/list') return refuse(500);
    session.answer(message, response, {});
  } else {
    response.writeHead(has('200-for-notifications') ? 200 : 202);
    response.end(has('202-with-body') ? 'ok' : '');
  }
  session.receive(body);
}

function read(body: string): Message | undefined {
  try {
    return JSON.parse(body) as Message;
  } catch {
    return undefined;
  }
}
