/** A bare `fetch` client for both eras, with access to statuses, headers and raw events. */
import { onTestFinished } from 'vitest';
import type { JsonObject } from 'mcp-actors';

/** A JSON-RPC message. */
export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Required headers of a POST. */
export const postHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/**
 * Keeps open streams referenced: Node's `fetch` closes a stream whose response is
 * garbage-collected.
 */
const unread = new Set<Response>();

/** Posts one message. */
export function post(
  url: URL,
  message: unknown,
  headers: object = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...postHeaders, ...headers },
    body: JSON.stringify(message),
    ...(signal ? { signal } : {}),
  });
}

/** An SSE event or comment. */
export interface RawEvent {
  readonly event?: string;
  readonly id?: string;
  readonly retry?: string;
  readonly comment?: string;
  /** Parsed JSON, or the URL of an `endpoint` event; undefined if empty. */
  readonly data?: unknown;
}

/** Reads an answer event by event; a JSON answer counts as one event. */
export class EventReader {
  readonly response: Response;
  readonly #isStream: boolean;
  readonly #beforeRead: () => Promise<void> | undefined;
  readonly #decoder = new TextDecoder();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #text = '';

  /** @param beforeRead awaited before each chunk is read */
  constructor(response: Response, beforeRead: () => Promise<void> | undefined = () => undefined) {
    this.response = response;
    this.#isStream = isStream(response);
    this.#beforeRead = beforeRead;
  }

  /** Reads the next event; undefined at the end. */
  async next(): Promise<RawEvent | undefined> {
    for (;;) {
      const end = this.#isStream ? this.#text.indexOf('\n\n') : -1;
      if (end !== -1) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return eventOf(block);
      }
      await this.#beforeRead();
      this.#reader ??= this.response.body?.getReader();
      const chunk = await this.#reader?.read();
      if (!chunk || chunk.done) return this.#rest();
      this.#text += this.#decoder.decode(chunk.value, { stream: true });
    }
  }

  /**
   * Reads the next event with a message.
   *
   * @throws {Error} if the answer ends first
   */
  async message(): Promise<RawEvent & { readonly data: Message }> {
    for (;;) {
      const event = await this.next();
      if (!event) throw new Error('The answer has ended without a message');
      if (event.data !== undefined) return event as RawEvent & { readonly data: Message };
    }
  }

  /** Reads all remaining events. */
  async rest(): Promise<readonly RawEvent[]> {
    const events: RawEvent[] = [];
    for (let event = await this.next(); event; event = await this.next()) events.push(event);
    return events;
  }

  /** Reads all remaining messages. */
  async messages(): Promise<readonly Message[]> {
    return (await this.rest()).flatMap(({ data }) => (data === undefined ? [] : [data as Message]));
  }

  async leave(): Promise<void> {
    await (this.#reader ?? this.response.body)?.cancel();
  }

  /** The rest as a JSON answer. A stream cut within an event drops that event. */
  #rest(): RawEvent | undefined {
    const text = this.#text;
    this.#text = '';
    return this.#isStream || text === '' ? undefined : { data: JSON.parse(text) as unknown };
  }
}

const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;

function eventOf(block: string): RawEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name === '' ? 'comment' : name, value.join(':').trim()] as const;
    }),
  );
  const { data = '', ...rest } = Object.fromEntries(fields);
  if (data === '') return rest;
  return { ...rest, data: rest['event'] === 'endpoint' ? data : (JSON.parse(data) as unknown) };
}

/** Reads all messages of an answer. */
export const messagesOf = (response: Response): Promise<readonly Message[]> =>
  new EventReader(response).messages();

/** Reads a JSON answer. */
export async function jsonOf(response: Response): Promise<Message> {
  return (await response.json()) as Message;
}

export function initializeRequest(protocolVersion = '2025-11-25', capabilities: object = {}) {
  const clientInfo = { name: 'raw', version: '1' };
  const params = { protocolVersion, capabilities, clientInfo };
  return { jsonrpc: '2.0', id: 'init', method: 'initialize', params };
}

/**
 * A session of a revision up to 2025-11-25, without a standalone stream unless the test opens one.
 */
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

  /** @returns the status */
  async notify(method: string, params?: object): Promise<number> {
    return (await this.post({ jsonrpc: '2.0', method, params })).status;
  }

  /**
   * Responds to a server request.
   *
   * @returns the status
   */
  async reply({ id }: Message, result: object): Promise<number> {
    return (await this.post({ jsonrpc: '2.0', id, result })).status;
  }

  /** Opens or resumes a stream, which closes with the test. */
  async get(lastEventId?: string): Promise<EventReader> {
    const resume: { [name: string]: string } =
      lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const response = await fetch(this.url, {
      headers: { accept: 'text/event-stream', ...this.headers, ...resume },
      signal: abort.signal,
    });
    unread.add(response);
    onTestFinished(() => void unread.delete(response));
    return new EventReader(response);
  }

  delete(): Promise<Response> {
    return fetch(this.url, { method: 'DELETE', headers: this.headers });
  }
}

/** Starts a session of a revision. */
export async function begin(
  url: URL,
  revision = '2025-11-25',
  capabilities: object = {},
): Promise<RawSession> {
  const response = await post(url, initializeRequest(revision, capabilities));
  await response.text();
  const id = response.headers.get('mcp-session-id') ?? '';
  const session = new RawSession(url, { 'mcp-session-id': id, 'mcp-protocol-version': revision });
  await session.notify('notifications/initialized');
  return session;
}
