/** A client of one session that sees everything: statuses, headers, and each event as it was sent. */
import { onTestFinished } from 'vitest';
import { createMcpServer } from '../../../src/index.ts';
import type { ServerDefinition, Tool } from '../../../src/index.ts';
import type { Fact } from '../../../src/actors/facts.ts';
import type { HttpOptions } from '../../../src/http/index.ts';
import { post, serveHttp } from '../serving.ts';

/** An event of a stream, or a comment. */
export interface RawEvent {
  readonly id?: string;
  readonly retry?: string;
  readonly comment?: string;
  /** Parsed; undefined if it is empty. */
  readonly data?: unknown;
}

/** Facts, as they were reported. */
export interface Reported {
  readonly facts: readonly Fact[];
  report(fact: Fact): void;
  /** Resolves once a fact of this name was reported. */
  told(name: string): Promise<Fact>;
}

export function reported(): Reported {
  const facts: Fact[] = [];
  const waiting = new Set<() => void>();
  return {
    facts,
    report: (fact) => {
      facts.push(fact);
      for (const look of waiting) look();
    },
    told: (name) =>
      new Promise((resolve) => {
        const look = () => {
          const fact = facts.find((each) => each.name === name);
          if (!fact) return;
          waiting.delete(look);
          resolve(fact);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Serves tools until the test is over, with everything that it reports. */
export async function serveTools(
  tools: readonly Tool[],
  options: HttpOptions = {},
  definition: Partial<ServerDefinition> = {},
) {
  const facts = reported();
  const { report } = facts;
  const server = createMcpServer({ name: 'raw', version: '1', tools, ...definition });
  const { session, ...rest } = options;
  const common = typeof session === 'function' ? {} : session;
  const url = await serveHttp(server, { report, ...rest, session: { report, ...common } });
  return { url, server, ...facts };
}

export function initializeOf(protocolVersion = '2025-11-25', capabilities: object = {}) {
  const clientInfo = { name: 'raw', version: '1' };
  const params = { protocolVersion, capabilities, clientInfo };
  return { jsonrpc: '2.0', id: 'init', method: 'initialize', params };
}

export class RawSession {
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  #id = 0;

  constructor(url: URL, headers: { readonly [name: string]: string }) {
    this.url = url;
    this.headers = headers;
  }

  get id(): string {
    return this.headers['mcp-session-id'] ?? '';
  }

  post(message: unknown, headers: object = {}): Promise<Response> {
    return post(this.url, message, { ...this.headers, ...headers });
  }

  request(method: string, params?: object, id: string | number = ++this.#id): Promise<Response> {
    return this.post({ jsonrpc: '2.0', id, method, params });
  }

  call(name: string, args: object = {}, id?: string | number): Promise<Response> {
    return this.request('tools/call', { name, arguments: args }, id);
  }

  /** Opens a stream, or goes on with one. It is left at the end of the test. */
  async get(lastEventId?: string): Promise<EventReader> {
    const resume: { [name: string]: string } =
      lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const response = await fetch(this.url, {
      headers: { accept: 'text/event-stream', ...this.headers, ...resume },
      signal: abort.signal,
    });
    return new EventReader(response);
  }

  delete(): Promise<Response> {
    return fetch(this.url, { method: 'DELETE', headers: this.headers });
  }
}

/** Begins a session of a revision. */
export async function begin(
  url: URL,
  revision = '2025-11-25',
  capabilities: object = {},
): Promise<RawSession> {
  const response = await post(url, initializeOf(revision, capabilities));
  await response.text();
  const id = response.headers.get('mcp-session-id') ?? '';
  const session = new RawSession(url, { 'mcp-session-id': id, 'mcp-protocol-version': revision });
  await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return session;
}

/** Reads a stream, event by event. */
export class EventReader {
  readonly response: Response;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  #text = '';

  constructor(response: Response) {
    this.response = response;
  }

  /** The next event; undefined at the end of the stream. */
  async next(): Promise<RawEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end !== -1) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return eventOf(block);
      }
      this.#reader ??= this.response.body?.getReader();
      const chunk = await this.#reader?.read();
      if (!chunk || chunk.done) return undefined;
      this.#text += this.#decoder.decode(chunk.value, { stream: true });
    }
  }

  /** The next event that holds a message. */
  async message(): Promise<RawEvent & { readonly data: Message }> {
    for (;;) {
      const event = await this.next();
      if (!event) throw new Error('The stream has ended without a message');
      if (event.data !== undefined) return event as RawEvent & { readonly data: Message };
    }
  }

  /** All that comes until the end of the stream. */
  async rest(): Promise<readonly RawEvent[]> {
    const events: RawEvent[] = [];
    for (let event = await this.next(); event; event = await this.next()) events.push(event);
    return events;
  }

  /** Closes the connection. */
  async leave(): Promise<void> {
    await (this.#reader ?? this.response.body)?.cancel();
  }
}

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown };
  readonly result?: { readonly [name: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

function eventOf(block: string): RawEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name === '' ? 'comment' : name, value.join(':').trim()] as const;
    }),
  );
  const data = fields.get('data');
  const { id, retry, comment } = Object.fromEntries(fields);
  return {
    ...(id === undefined ? {} : { id }),
    ...(retry === undefined ? {} : { retry }),
    ...(comment === undefined ? {} : { comment }),
    ...(data === undefined || data === '' ? {} : { data: JSON.parse(data) as unknown }),
  };
}

/** An answer of JSON. */
export async function jsonOf(response: Response): Promise<Message> {
  return (await response.json()) as Message;
}
