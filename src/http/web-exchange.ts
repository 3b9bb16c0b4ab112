/** An exchange over the `Request` and the `Response` of the web's standard. */
import type { Principal } from '../protocol/request-origin.ts';
import type { Admission } from './admission.ts';
import { tooLong } from './bodies.ts';
import type { BodyRefusal, ReceivedBody } from './bodies.ts';
import type { Body, ExchangeHome, HttpAnswer, HttpExchange } from './http-exchange.ts';
import { partyOf } from './parties.ts';
import { WatchedSink } from './watched-sink.ts';
import type { Outlet } from './watched-sink.ts';

type Headers = { readonly [name: string]: string };

const encoder = new TextEncoder();

/** What only the host knows of a request. */
export interface RequestInfo {
  /** The address of the client, if the host knows it. */
  readonly remoteAddress?: string | undefined;
}

export class WebExchange implements HttpExchange {
  principal?: Principal;
  admission?: Admission;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  /** What the request is answered with, once that is known. */
  readonly response: Promise<Response>;
  readonly #request: Request;
  readonly #home: ExchangeHome;
  /** Undefined once it is answered: what happens to the connection then is no matter. */
  #gone: (() => void)[] | undefined = [];
  #added: Headers | undefined = undefined;
  #respond!: (response: Response) => void;

  constructor(request: Request, home: ExchangeHome, { remoteAddress }: RequestInfo = {}) {
    this.#home = home;
    const { pathname, search } = new URL(request.url);
    this.target = pathname + search;
    this.remoteAddress = remoteAddress;
    this.#request = request;
    this.response = new Promise((resolve) => {
      this.#respond = resolve;
    });
    request.signal.addEventListener('abort', () => this.#leave(), { once: true });
  }

  get method(): string {
    return this.#request.method;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers.get(name);
    // Not every host has the header that the URL was made of.
    return value ?? (name === 'host' ? new URL(this.#request.url).host : undefined);
  }

  headerNames(): readonly string[] {
    return [...this.#request.headers.keys()];
  }

  /** A `Request` has joined what was sent twice: no such header holds a comma by itself. */
  headerCount(name: string): number {
    return this.#request.headers.get(name)?.split(',').length ?? 0;
  }

  readBody(done: (body: Body) => void): void {
    this.#readText().then(done, () => {
      // The connection broke while it was read: nobody waits for an answer.
      this.#leave();
    });
  }

  async #readText(): Promise<Body> {
    const { bodies, limits } = this.#home;
    const { maxBodyBytes } = limits;
    const length = Number(this.header('content-length') ?? 'NaN');
    if (length > maxBodyBytes) return tooLong(maxBodyBytes);
    const { bodyUsed, body } = this.#request;
    if (bodyUsed || body?.locked) return readBefore;
    if (!body) return { ok: true, text: '' };
    const reader = body.getReader();
    let refusal: BodyRefusal | undefined;
    const received = bodies.begin(partyOf(this), (why) => {
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
    const outlet = new WebOutlet(this.#request.signal, {
      gone: () => this.#leave(),
      over: () => {
        this.#gone = undefined;
      },
    });
    const init = { status: 200, headers: { ...this.#added, ...headers } };
    this.#respond(new Response(outlet.body, init));
    return new WatchedSink(outlet, this.#home);
  }

  get isGone(): boolean {
    return this.#request.signal.aborted;
  }

  onGone(callback: () => void): void {
    if (this.isGone) callback();
    else this.#gone?.push(callback);
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

class WebOutlet implements Outlet {
  /** Nothing is before it: an answer is all that its `Response` has. */
  readonly isItsTurn = true;
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

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

  write(text: string): number {
    const bytes = encoder.encode(text);
    this.#controller?.enqueue(bytes);
    return bytes.length;
  }

  end(): void {
    // What waits can still be dropped.
    this.#controller?.close();
    this.#ending.over();
  }

  cut(): void {
    // Nobody reads any more if the client has gone: nobody would handle the error.
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
