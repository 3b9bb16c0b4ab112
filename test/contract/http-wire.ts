/**
 * Streamable HTTP for contract tests, without a socket: each message of the client is a POST,
 * answers come in JSON or on its stream, pushes on one GET stream that is open before the client
 * learns of its session. Nothing here waits for the event loop, only for promises.
 */
import type { McpServer, McpSession } from 'mcp-actors';
import { httpHandler } from 'mcp-actors/http';
import type { HttpHandler } from 'mcp-actors/http';
import { RecordedFacts, ScriptedPeer, gate, flush } from 'mcp-actors/testing';
import type { Conversation, ConversationOptions, Gate } from 'mcp-actors/testing';
import { isJsonObject } from '../../src/protocol/classify.ts';
import type { JsonObject, RequestId } from '../../src/protocol/frames.ts';
import { encodeHeaderValue, mcpNameMembers } from '../../src/protocol/header-values.ts';
import { EventReader } from '../../packages/http/test/raw-client.ts';
import type { Channel } from './channel-wire.ts';
import { modern } from './everywhere.ts';
import type { TestWire } from './stream-wire.ts';

const url = 'http://localhost/mcp';

const postHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

interface Headers {
  readonly [name: string]: string;
}

interface Said {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers?: Headers;
  readonly body?: string;
}

export interface HttpClientOptions {
  /** Whether the client opens a GET stream as soon as possible. Default: true. */
  readonly opensStream?: boolean;
}

export interface HttpConversation extends Conversation<TestWire> {
  readonly channel: Channel;
  /** The session; undefined until a message starts one. */
  readonly begun: McpSession | undefined;
  /** Ends the session like its client, then the endpoint. */
  close(): Promise<void>;
}

/** Starts a scripted conversation with an endpoint. The first message starts the session. */
export function converseOverHttp(
  server: McpServer,
  { clock, environment, opensStream = true, ...options }: ConversationOptions & HttpClientOptions,
): HttpConversation {
  const facts = new RecordedFacts();
  const { report } = facts;
  const handler = httpHandler(server, {
    ...(clock ? { clock } : {}),
    ...(environment ? { environment: () => environment } : {}),
    report,
    session: { ...options, report },
  });
  let begun: McpSession | undefined;
  const look = () => {
    const [first] = begun ? [] : handler.sessions;
    if (first) begin(first);
    return begun;
  };
  const wire = new HttpWire(handler, look, { revision: options.revision, opensStream });
  const peer = new ScriptedPeer(wire, options);
  const begin = (session: McpSession) => {
    begun = session;
    void session.closed.then(async ({ kind }) => {
      // Output sent at the end is still in transit.
      await flush();
      const reason = `the session has ended (${kind})`;
      peer.close(reason);
      facts.close(reason);
    });
  };
  return {
    peer,
    wire,
    channel: wire,
    facts,
    get begun() {
      return look();
    },
    get session() {
      const session = look();
      if (!session) throw new Error('No message has begun a session over HTTP yet');
      return session;
    },
    close: async () => {
      wire.end();
      await flush();
      await handler.close();
    },
  };
}

/** The client's end. */
class HttpWire implements TestWire, Channel {
  /** Cannot be paused: each message is delivered separately. */
  readonly paused = false;
  readonly #handler: HttpHandler;
  readonly #answered: () => void;
  readonly #revision: string | undefined;
  readonly #opensStream: boolean;
  readonly #listeners: ((frame: unknown) => void)[] = [];
  /** Responses being read, with the ids of the requests they answer. */
  readonly #reading = new Map<AbortController, unknown>();
  /** Headers of each request, once there is a session. */
  #session: Headers | undefined;
  #held: Gate | undefined;
  /** Its GET streams. */
  readonly #own = new Set<AbortController>();
  readonly #heard: { readonly method: unknown; readonly on: RequestId | undefined }[] = [];

  /** @param answered called when a response arrives, before its body is read */
  constructor(
    handler: HttpHandler,
    answered: () => void,
    { revision, opensStream }: HttpClientOptions & { readonly revision: string | undefined },
  ) {
    this.#handler = handler;
    this.#answered = answered;
    this.#revision = revision;
    this.#opensStream = opensStream ?? true;
  }

  readonly received$ = {
    subscribe: (listener: (frame: unknown) => void) => this.#listeners.push(listener),
  };

  sendRaw(chunk: string | Uint8Array): void {
    const text = typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk);
    for (const line of text.split('\n')) if (line !== '') this.#say(line);
  }

  /** Ends its session, if it has one. */
  end(): void {
    if (this.#session) void this.#exchange({ method: 'DELETE' });
    this.#session = undefined;
  }

  stopReading(): void {
    this.#held ??= gate();
  }

  resumeReading(): void {
    this.#held?.release();
    this.#held = undefined;
  }

  /** Disconnects from every answer. */
  breakOutput(): void {
    for (const controller of this.#reading.keys()) controller.abort();
  }

  openChannel(): void {
    const headers = { accept: 'text/event-stream' };
    void this.#exchange({ method: 'GET', headers });
  }

  closeChannel(): void {
    for (const controller of this.#own) controller.abort();
  }

  relatedTo(method: string): readonly (RequestId | undefined)[] {
    return this.#heard.filter((frame) => frame.method === method).map(({ on }) => on);
  }

  #say(body: string): void {
    const message = JSON.parse(body) as JsonObject;
    const { id, method } = message;
    if (this.#isStateless && method === 'notifications/cancelled') {
      // Without a session, clients cancel by disconnecting.
      return this.#leave((message['params'] as JsonObject | undefined)?.['requestId']);
    }
    const headers = { ...postHeaders, ...this.#mirrored(message) };
    void this.#exchange({ method: 'POST', headers, body }, id);
  }

  get #isStateless(): boolean {
    return this.#revision === modern;
  }

  /** Headers that repeat members of the message. */
  #mirrored({ method, params }: JsonObject): Headers {
    if (!this.#isStateless) return {};
    if (typeof method !== 'string') return { 'mcp-protocol-version': modern };
    const named = mcpNameMembers.get(method);
    const name = named !== undefined && isJsonObject(params) ? params[named] : undefined;
    const meta = isJsonObject(params) && isJsonObject(params['_meta']) ? params['_meta'] : {};
    const version = meta['io.modelcontextprotocol/protocolVersion'];
    return {
      'mcp-protocol-version': typeof version === 'string' ? version : modern,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
    };
  }

  #leave(id: unknown): void {
    if (id === undefined) return;
    for (const [controller, answers] of this.#reading) if (answers === id) controller.abort();
  }

  async #exchange({ headers, ...said }: Said, id?: unknown): Promise<void> {
    const controller = new AbortController();
    this.#reading.set(controller, id);
    if (said.method === 'GET') this.#own.add(controller);
    const { signal } = controller;
    const init = { ...said, headers: { ...headers, ...this.#session }, signal };
    const response = await this.#handler(new Request(url, init));
    this.#answered();
    const session = response.headers.get('mcp-session-id');
    const answer = new EventReader(response, () => this.#held?.pass());
    for (;;) {
      const event = await answer.next().catch(endOfCut);
      if (!event) break;
      if (event.data === undefined) continue;
      const frame = event.data as JsonObject;
      if (session !== null) this.#begin(session, frame);
      this.#heard.push({ method: frame['method'], on: id as RequestId | undefined });
      for (const listener of this.#listeners) listener(frame);
    }
    this.#reading.delete(controller);
    this.#own.delete(controller);
  }

  /** Starts using the session: opens the GET stream before anyone learns of the session. */
  #begin(id: string, { result }: JsonObject): void {
    const { protocolVersion } = result as { readonly protocolVersion: string };
    this.#session = { 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion };
    if (this.#opensStream) this.openChannel();
  }
}

/**
 * A stream cut by the endpoint ends here: the endpoint has reported it, and the test notices
 * missing messages.
 */
function endOfCut(error: unknown): undefined {
  if (error instanceof Error && error.message === 'The stream was cut') return;
  throw error;
}
