/** A client of one session that is nothing but `fetch`: it opens a stream of its own only if the test says so. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { onTestFinished } from 'vitest';
import type { JsonObject } from 'mcp-actors';
import { post } from './serving.ts';

/** A JSON-RPC message. */
export interface WireMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The answer to a request of the client's, message by message. */
export interface RawAnswer {
  readonly response: Response;
  /** @throws {Error} the answer has ended */
  next(): Promise<WireMessage>;
  /** The messages that are left. */
  rest(): Promise<readonly WireMessage[]>;
}

export class RawSession {
  readonly #url: URL;
  readonly #headers: { readonly [name: string]: string };

  constructor(url: URL, headers: { readonly [name: string]: string }) {
    this.#url = url;
    this.#headers = headers;
  }

  /** Sends a message; for a notification or a response, resolves once it is accepted. */
  async post(message: object): Promise<RawAnswer> {
    return answerOf(await post(this.#url, message, this.#headers));
  }

  call(id: string | number, name: string, args: JsonObject = {}): Promise<RawAnswer> {
    const params = { name, arguments: args };
    return this.post({ jsonrpc: '2.0', id, method: 'tools/call', params });
  }

  /** @returns the status */
  async notify(method: string, params?: JsonObject): Promise<number> {
    const message = { jsonrpc: '2.0', method, ...(params ? { params } : {}) };
    return (await this.post(message)).response.status;
  }

  /** Answers a request of the session's. @returns the status */
  async reply({ id }: WireMessage, result: JsonObject): Promise<number> {
    return (await this.post({ jsonrpc: '2.0', id, result })).response.status;
  }

  /** Opens a stream for what belongs to no request, until it is closed or the test is over. */
  async listen(): Promise<RawAnswer & { close(): void }> {
    const controller = new AbortController();
    const { signal } = controller;
    const headers = { ...this.#headers, accept: 'text/event-stream' };
    const answer = answerOf(await fetch(this.#url, { headers, signal }));
    const close = () => controller.abort();
    onTestFinished(close);
    return { ...answer, close };
  }
}

/** Shakes hands, and opens no stream. */
export async function rawSession(
  url: URL,
  capabilities: JsonObject = {},
  protocolVersion = '2025-11-25',
): Promise<RawSession> {
  const clientInfo = { name: 'raw', version: '1' };
  const params = { protocolVersion, capabilities, clientInfo };
  const begun = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  await begun.text();
  const session = new RawSession(url, {
    'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': protocolVersion,
  });
  await session.notify('notifications/initialized');
  return session;
}

function answerOf(response: Response): RawAnswer {
  const messages = messagesOf(response);
  const next = async () => {
    const { value, done } = await messages.next();
    if (done) throw new Error('The answer has ended');
    return value;
  };
  const rest = async () => {
    const left: WireMessage[] = [];
    for await (const message of messages) left.push(message);
    return left;
  };
  return { response, next, rest };
}

async function* messagesOf(response: Response): AsyncGenerator<WireMessage, undefined> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text();
    if (text !== '') yield JSON.parse(text) as WireMessage;
    return undefined;
  }
  const events = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { data } of events ?? []) {
    if (data !== '') yield JSON.parse(data) as WireMessage;
  }
  return undefined;
}
