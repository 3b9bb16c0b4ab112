/**
 * The transport of 2024-11-05: one stream of events on which everything comes, and an endpoint for
 * messages, which its first event names.
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import type { RuntimeError } from '../../protocol/errors.ts';
import { quoted } from '../../protocol/printable.ts';
import { placeOf } from './address.ts';
import { violation } from './failures.ts';
import { ServerStream } from './server-stream.ts';
import type { StreamEnd, StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, Sent } from './wire.ts';

/** Who hears what comes of it. */
export interface SseHearer {
  /** Messages may be posted to this URL. */
  opened(endpoint: URL): void;
  received(texts: readonly string[]): void;
  /** It was not opened, or has ended. Called once; `kind` says whether the server was reached. */
  ended(error: RuntimeError, kind: StreamEnd): void;
}

/** Asks for the stream at once. */
export class SseEndpoint implements StreamOwner {
  readonly what = 'the stream of events';
  readonly resumption = 'none';
  readonly #url: URL;
  readonly #wire: HttpWire;
  readonly #hearer: SseHearer;
  readonly #controller = new AbortController();
  readonly #stream: ServerStream;
  #state: 'unnamed' | 'named' | 'over' = 'unnamed';

  constructor(url: URL, wire: HttpWire, hearer: SseHearer, streams: StreamEnvironment) {
    this.#url = url;
    this.#wire = wire;
    this.#hearer = hearer;
    this.#stream = new ServerStream(this, streams);
  }

  close(): void {
    this.#state = 'over';
    this.#controller.abort();
    this.#stream.close();
  }

  ask(): Promise<Sent> {
    return this.#wire.send({
      what: this.what,
      method: 'GET',
      url: this.#url,
      headers: { accept: 'text/event-stream' },
      signal: this.#controller.signal,
    });
  }

  received(texts: readonly string[]): 'more' {
    if (this.#state === 'named') this.#hearer.received(texts);
    else this.#end(violation(this.what, 'begins with a message, not with an endpoint'), 'refused');
    return 'more';
  }

  passedOver({ event, data }: { readonly event: string; readonly data: string }): void {
    if (event !== 'endpoint' || this.#state !== 'unnamed') return;
    const endpoint = URL.canParse(data, this.#url.href) ? new URL(data, this.#url) : undefined;
    if (endpoint?.origin !== this.#url.origin) {
      const why = `names ${quoted(data)} as its endpoint, and nothing is sent to another origin than ${this.#url.origin}`;
      return this.#end(violation(`GET ${placeOf(this.#url)}`, why), 'refused');
    }
    this.#state = 'named';
    this.#hearer.opened(endpoint);
  }

  gaveUp(error: RuntimeError, kind: StreamEnd): void {
    this.#end(error, kind);
  }

  #end(error: RuntimeError, kind: StreamEnd): void {
    if (this.#state === 'over') return;
    this.close();
    this.#hearer.ended(error, kind);
  }
}
