/** An exchange over the `Request` and the `Response` of the web's standard. */
import type { Principal, TokenExchange } from '../../../src/protocol/request-origin.ts';
import type { TokenValidity } from './admission.ts';
import { bodyTooLong } from './bodies.ts';
import type { BodyRefusal, ReceivedBody } from './bodies.ts';
import type { Body, ExchangeHome, HttpAnswer, HttpExchange, RequestHead } from './http-exchange.ts';
import { clientKeyOf } from './session-slots.ts';
import { WatchedSink } from './watched-sink.ts';
import type { SinkOutlet } from './watched-sink.ts';
import { Endpoint, controlled } from './endpoint.ts';
import type { EndpointControl } from './endpoint.ts';
import type { HttpOptions, ServerFactory } from './options.ts';

type Headers = { readonly [name: string]: string };

const encoder = new TextEncoder();

/** What only the host knows of a request. */
export interface RequestInfo {
  /** The address of the client, if the host knows it. */
  readonly remoteAddress?: string | undefined;
}

/** @param hostInUrl not every host has the header that the URL was made of */
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
  admission?: TokenValidity;
  readonly method: string;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  readonly head: RequestHead;
  /** What the request is answered with, once that is known. */
  readonly response: Promise<Response>;
  readonly #request: Request;
  readonly #home: ExchangeHome;
  /** Undefined once it is answered: it does not matter what happens to the connection then. */
  #gone: Set<() => void> | undefined = new Set();
  #added: Headers | undefined = undefined;
  #respond!: (response: Response) => void;

  constructor(request: Request, home: ExchangeHome, { remoteAddress }: RequestInfo = {}) {
    this.#home = home;
    const { pathname, search, host } = new URL(request.url);
    this.method = request.method;
    this.target = pathname + search;
    this.head = readHead(request.headers, host);
    this.remoteAddress = remoteAddress;
    this.#request = request;
    this.response = new Promise((resolve) => {
      this.#respond = resolve;
    });
    request.signal.addEventListener('abort', () => this.#leave());
  }

  header(name: string): string | undefined {
    return name === 'host' ? this.head.host : (this.#request.headers.get(name) ?? undefined);
  }

  headerNames(): readonly string[] {
    return [...this.#request.headers.keys()];
  }

  readBody(done: (body: Body) => void, party = clientKeyOf(this)): void {
    this.#readText(party).then(done, () => {
      // The connection broke while it was read: nobody waits for an answer.
      this.#leave();
    });
  }

  async #readText(party: string): Promise<Body> {
    const { bodies, limits } = this.#home;
    const { maxBodyBytes } = limits;
    const length = Number(this.header('content-length') ?? 'NaN');
    if (length > maxBodyBytes) return bodyTooLong(maxBodyBytes);
    const { bodyUsed, body } = this.#request;
    if (bodyUsed || body?.locked) return readBefore;
    if (!body) return { ok: true, text: '' };
    const reader = body.getReader();
    let refusal: BodyRefusal | undefined;
    const received = bodies.begin(party, (why) => {
      refusal = why;
      // The rest is of no use to anybody. It may have broken by itself.
      reader.cancel().catch(() => {});
    });
    try {
      await readAll(reader, received, length);
      return refusal ?? textOf(received.finish());
    } finally {
      received.leave();
    }
  }

  addHeaders(headers: Headers): void {
    this.#added = { ...this.#added, ...headers };
  }

  answer({ status, headers, body }: HttpAnswer): void {
    this.#gone = undefined;
    const text = this.method === 'HEAD' ? undefined : body;
    this.#respond(new Response(text, { status, headers: { ...this.#added, ...headers } }));
  }

  stream(headers: Headers): WatchedSink {
    return new WatchedSink(this.#begin(200, headers), this.#home);
  }

  relay(status: number, headers: Headers): WatchedSink {
    return new WatchedSink(this.#begin(status, headers), this.#home, 'elsewhere');
  }

  #begin(status: number, headers: Headers): WebOutlet {
    const outlet = new WebOutlet(this.#request.signal, {
      gone: () => this.#leave(),
      over: () => {
        this.#gone = undefined;
      },
    });
    this.#respond(new Response(outlet.body, { status, headers: { ...this.#added, ...headers } }));
    return outlet;
  }

  get isGone(): boolean {
    return this.#request.signal.aborted;
  }

  onGone(callback: () => void): () => void {
    if (this.isGone) callback();
    else this.#gone?.add(callback);
    return () => this.#gone?.delete(callback);
  }

  #leave(): void {
    const gone = this.#gone;
    this.#gone = undefined;
    for (const callback of gone ?? []) callback();
  }
}

interface SinkEnd {
  /** The client has gone. */
  gone(): void;
  /** The stream has ended otherwise. */
  over(): void;
}

class WebOutlet implements SinkOutlet {
  /** Nothing is before it: an answer is all that its `Response` has. */
  readonly isItsTurn = true;
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Calls back once the client has read what was written. */
  #taken: (() => void) | undefined = undefined;

  readonly #client: AbortSignal;
  readonly #ending: SinkEnd;

  /** @param client aborted once it has gone */
  constructor(client: AbortSignal, ending: SinkEnd) {
    this.#client = client;
    this.#ending = ending;
    this.body = new ReadableStream(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          const taken = this.#taken;
          this.#taken = undefined;
          taken?.();
        },
        cancel: () => {
          this.#controller = undefined;
          ending.gone();
        },
      },
      { highWaterMark: 0, size: (chunk) => chunk.byteLength },
    );
  }

  get untakenBytes(): number {
    return Math.max(0, -(this.#controller?.desiredSize ?? 0));
  }

  write(data: string | Uint8Array): number {
    const bytes = typeof data === 'string' ? encoder.encode(data) : data;
    this.#controller?.enqueue(bytes);
    return bytes.length;
  }

  whenTaken(callback: () => void): void {
    if (this.untakenBytes === 0) callback();
    else this.#taken = callback;
  }

  end(): void {
    // What waits can still be dropped.
    this.#controller?.close();
    this.#ending.over();
  }

  cut(): void {
    // If the client has gone, the stream has no reader that could handle the error.
    if (!this.#client.aborted) this.#controller?.error(new Error('The stream was cut'));
    this.#controller = undefined;
    this.#ending.gone();
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
    received.take(value, received.length + value.byteLength === length);
  }
}

const readBefore: Body = {
  ok: false,
  status: 500,
  message: 'The body was read before: give the handler the request as it came',
};

function textOf(bytes: Uint8Array): Body {
  try {
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, status: 400, message: 'The body is not UTF-8' };
  }
}

/** Answers requests of the web's standard. */
export interface HttpHandler extends EndpointControl {
  /** Answers one request. It never rejects: what goes wrong is a response. */
  (request: Request, info?: RequestInfo): Promise<Response>;
}

/** A server as a handler of `Request`s: for Hono, Next, Bun, Deno and workers. */
export function httpHandler(server: ServerFactory, options: HttpOptions = {}): HttpHandler {
  const endpoint = new Endpoint(server, options);
  const handle = (request: Request, info?: RequestInfo) => {
    const exchange = new WebExchange(request, endpoint, info);
    endpoint.handle(exchange);
    return exchange.response;
  };
  return controlled(handle, endpoint);
}
