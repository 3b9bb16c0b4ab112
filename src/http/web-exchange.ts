/** An exchange over the `Request` and the `Response` of the web's standard. */
import type { Principal } from '../protocol/request-origin.ts';
import type { Admission } from './admission.ts';
import type { Body, EventSink, HttpAnswer, HttpExchange } from './http-exchange.ts';

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
  /** Undefined once it is answered: what happens to the connection then is no matter. */
  #gone: (() => void)[] | undefined = [];
  #added: Headers | undefined = undefined;
  #respond!: (response: Response) => void;

  constructor(request: Request, { remoteAddress }: RequestInfo = {}) {
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

  readBody(maxBytes: number, done: (body: Body) => void): void {
    readText(this.#request, maxBytes).then(done, () => {
      // The connection broke while it was read: nobody waits for an answer.
      this.#leave();
    });
  }

  addHeaders(headers: Headers): void {
    this.#added = { ...this.#added, ...headers };
  }

  answer({ status, headers, body }: HttpAnswer): void {
    this.#gone = undefined;
    const text = this.method === 'HEAD' ? undefined : body;
    this.#respond(new Response(text, { status, headers: { ...this.#added, ...headers } }));
  }

  stream(headers: Headers): EventSink {
    const sink = new WebEventSink({
      gone: () => this.#leave(),
      over: () => {
        this.#gone = undefined;
      },
    });
    const init = { status: 200, headers: { ...this.#added, ...headers } };
    this.#respond(new Response(sink.body, init));
    return sink;
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

class WebEventSink implements EventSink {
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  readonly #ending: SinkEnd;

  constructor(ending: SinkEnd) {
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

  write(text: string): void {
    this.#controller?.enqueue(encoder.encode(text));
  }

  end(): void {
    this.#controller?.close();
    this.#controller = undefined;
    this.#ending.over();
  }

  cut(): void {
    this.#controller?.error(new Error('The stream was cut'));
    this.#controller = undefined;
    this.#ending.gone();
  }
}

async function readText(request: Request, maxBytes: number): Promise<Body> {
  const tooLarge: Body = {
    ok: false,
    status: 413,
    message: `The body is longer than ${maxBytes} bytes`,
  };
  if (Number(request.headers.get('content-length')) > maxBytes) return tooLarge;
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let length = 0;
  // Not every host's streams are iterable.
  const body: ReadableStream<Uint8Array> | null = request.body;
  if (request.bodyUsed || body?.locked) return readBefore;
  const reader = body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.byteLength;
    const more =
      length > maxBytes ? undefined : decoded(() => decoder.decode(value, { stream: true }));
    if (more === undefined) {
      // The rest is of no use to anybody. It may have broken by itself.
      reader.cancel().catch(() => {});
      return length > maxBytes ? tooLarge : notUtf8;
    }
    text += more;
  }
  const rest = decoded(() => decoder.decode());
  return rest === undefined ? notUtf8 : { ok: true, text: text + rest };
}

const readBefore: Body = {
  ok: false,
  status: 500,
  message: 'The body was read before: give the handler the request as it came',
};

const notUtf8: Body = { ok: false, status: 400, message: 'The body is not UTF-8' };

function decoded(decode: () => string): string | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}
