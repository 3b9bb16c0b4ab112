/** Serves the web's `Request` and `Response`. */
import type { Principal, TokenExchange } from '../../../src/protocol/request-origin.ts';
import type { TokenValidity } from './token-validity.ts';
import { bodyTooLong } from './bodies.ts';
import type { BodyRefusal, ReceivedBody } from './bodies.ts';
import type {
  Body,
  ExchangeContext,
  HttpAnswer,
  HttpExchange,
  RequestHead,
} from './http-exchange.ts';
import { clientKeyOf } from './session-slots.ts';
import { WatchedSink } from './watched-sink.ts';
import type { SinkOutlet } from './watched-sink.ts';
import { Endpoint, controlled } from './endpoint.ts';
import type { EndpointControl } from './endpoint.ts';
import type { HttpOptions, ServerFactory } from './options.ts';

type Headers = { readonly [name: string]: string };

const encoder = new TextEncoder();

/** Request details that only the host knows. */
export interface RequestInfo {
  /** Client address, if known. */
  readonly remoteAddress?: string | undefined;
}

/** @param hostInUrl fallback for platforms that hide the `Host` header */
function readHead(headers: Request['headers'], hostInUrl: string): RequestHead {
  const value = (name: string) => headers.get(name) ?? undefined;
  return {
    host: value('host') ?? hostInUrl,
    origin: value('origin'),
    accept: value('accept'),
    authorization: value('authorization'),
    contentType: value('content-type'),
    contentEncoding: value('content-encoding'),
    sessionId: value('mcp-session-id'),
    protocolVersion: value('mcp-protocol-version'),
  };
}

export class WebExchange implements HttpExchange {
  principal?: Principal;
  tokens?: TokenExchange;
  tokenValidity?: TokenValidity;
  readonly method: string;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  readonly head: RequestHead;
  /** The response; settles once the endpoint answers. */
  readonly response: Promise<Response>;
  readonly #request: Request;
  readonly #endpoint: ExchangeContext;
  /** Callbacks for a disconnect; undefined after the response, when it no longer matters. */
  #disconnectCallbacks: Set<() => void> | undefined = new Set();
  #addedHeaders: Headers | undefined = undefined;
  #respond!: (response: Response) => void;

  constructor(request: Request, endpoint: ExchangeContext, { remoteAddress }: RequestInfo = {}) {
    this.#endpoint = endpoint;
    const { pathname, search, host } = new URL(request.url);
    this.method = request.method;
    this.target = pathname + search;
    this.head = readHead(request.headers, host);
    this.remoteAddress = remoteAddress;
    this.#request = request;
    this.response = new Promise((resolve) => {
      this.#respond = resolve;
    });
    request.signal.addEventListener('abort', () => this.#onAborted());
  }

  header(name: string): string | undefined {
    return name === 'host' ? this.head.host : (this.#request.headers.get(name) ?? undefined);
  }

  headerNames(): readonly string[] {
    return [...this.#request.headers.keys()];
  }

  readBody(done: (body: Body) => void, clientKey = clientKeyOf(this)): void {
    this.#readText(clientKey).then(done, () => {
      // The connection broke while the body was read, so there is nobody to answer.
      this.#onAborted();
    });
  }

  async #readText(clientKey: string): Promise<Body> {
    const { bodies, limits } = this.#endpoint;
    const { maxBodyBytes } = limits;
    const length = Number(this.header('content-length') ?? 'NaN');
    if (length > maxBodyBytes) return bodyTooLong(maxBodyBytes);
    const { bodyUsed, body } = this.#request;
    if (bodyUsed || body?.locked) return bodyAlreadyRead;
    if (!body) return { ok: true, text: '' };
    const reader = body.getReader();
    let refusal: BodyRefusal | undefined;
    const received = bodies.open(clientKey, (why) => {
      refusal = why;
      // The rest is unwanted; cancelling may fail if the connection already broke.
      reader.cancel().catch(() => {});
    });
    try {
      await readAll(reader, received, length);
      return refusal ?? textOf(received.finish());
    } finally {
      received.close();
    }
  }

  addHeaders(headers: Headers): void {
    this.#addedHeaders = { ...this.#addedHeaders, ...headers };
  }

  answer({ status, headers, body }: HttpAnswer): void {
    this.#disconnectCallbacks = undefined;
    const text = this.method === 'HEAD' ? undefined : body;
    this.#respond(new Response(text, { status, headers: { ...this.#addedHeaders, ...headers } }));
  }

  stream(headers: Headers): WatchedSink {
    return new WatchedSink(this.#openOutlet(200, headers), this.#endpoint);
  }

  relay(status: number, headers: Headers): WatchedSink {
    return new WatchedSink(this.#openOutlet(status, headers), this.#endpoint, 'elsewhere');
  }

  #openOutlet(status: number, headers: Headers): WebOutlet {
    const outlet = new WebOutlet(this.#request.signal, {
      disconnected: () => this.#onAborted(),
      ended: () => {
        this.#disconnectCallbacks = undefined;
      },
    });
    this.#respond(
      new Response(outlet.body, { status, headers: { ...this.#addedHeaders, ...headers } }),
    );
    return outlet;
  }

  get isDisconnected(): boolean {
    return this.#request.signal.aborted;
  }

  onDisconnected(callback: () => void): () => void {
    if (this.isDisconnected) callback();
    else this.#disconnectCallbacks?.add(callback);
    return () => this.#disconnectCallbacks?.delete(callback);
  }

  #onAborted(): void {
    const gone = this.#disconnectCallbacks;
    this.#disconnectCallbacks = undefined;
    for (const callback of gone ?? []) callback();
  }
}

interface OutletCallbacks {
  /** The client disconnected. */
  disconnected(): void;
  /** The response is complete. */
  ended(): void;
}

class WebOutlet implements SinkOutlet {
  /** Always true: each `Response` has its own body stream. */
  readonly hasConnection = true;
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Called once everything written has been read. */
  #onDrained: (() => void) | undefined = undefined;

  readonly #client: AbortSignal;
  readonly #callbacks: OutletCallbacks;

  /** @param client aborted when the client disconnects */
  constructor(client: AbortSignal, callbacks: OutletCallbacks) {
    this.#client = client;
    this.#callbacks = callbacks;
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          const onDrained = this.#onDrained;
          this.#onDrained = undefined;
          onDrained?.();
        },
        cancel: () => {
          this.#controller = undefined;
          callbacks.disconnected();
        },
      },
      { highWaterMark: 0, size: (chunk) => chunk.byteLength },
    );
  }

  get unsentBytes(): number {
    return Math.max(0, -(this.#controller?.desiredSize ?? 0));
  }

  write(data: string | Uint8Array): number {
    const bytes = typeof data === 'string' ? encoder.encode(data) : data;
    this.#controller?.enqueue(bytes);
    return bytes.length;
  }

  onDrained(callback: () => void): void {
    if (this.unsentBytes === 0) callback();
    else this.#onDrained = callback;
  }

  end(): void {
    // Bytes that were enqueued can still be dropped.
    this.#controller?.close();
    this.#callbacks.ended();
  }

  cut(): void {
    // After an abort nobody reads the stream, so the error would be unhandled.
    if (!this.#client.aborted) this.#controller?.error(new Error('The stream was cut'));
    this.#controller = undefined;
    this.#callbacks.disconnected();
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  received: ReceivedBody,
  length: number,
): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    received.append(value, received.length + value.byteLength === length);
  }
}

const bodyAlreadyRead: Body = {
  ok: false,
  status: 500,
  message: 'The body was already read: pass the handler an unread request',
};

function textOf(bytes: Uint8Array): Body {
  try {
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, status: 400, message: 'The body is not UTF-8' };
  }
}

/** Serves the web's `Request`s. */
export interface HttpHandler extends EndpointControl {
  /** Serves one request. Never rejects: failures become responses. */
  (request: Request, info?: RequestInfo): Promise<Response>;
}

/** Creates a `Request` handler for Hono, Next, Bun, Deno and workers. */
export function httpHandler(server: ServerFactory, options: HttpOptions = {}): HttpHandler {
  const endpoint = new Endpoint(server, options);
  const handle = (request: Request, info?: RequestInfo) => {
    const exchange = new WebExchange(request, endpoint, info);
    endpoint.handle(exchange);
    return exchange.response;
  };
  return controlled(handle, endpoint);
}
