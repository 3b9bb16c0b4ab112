/**
 * The transport of 2024-11-05: one stream for everything from the server, and a URL for messages to
 * it, which the first event names.
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import { serverPushChart } from '../../../machines/server-push.machine.ts';
import type { RuntimeError } from '../../../protocol/errors.ts';
import { quoted } from '../../../protocol/printable.ts';
import { placeOf } from '../address.ts';
import { violation } from '../failures.ts';
import { ServerStream } from '../server-stream.ts';
import type { StreamEnd, StreamEnvironment, StreamOwner } from '../server-stream.ts';
import type { HttpWire, SendOutcome } from '../wire.ts';

/** Callbacks of the endpoint. */
export interface SseHearer {
  /** The server has named its endpoint: messages may be posted. */
  opened(): void;
  received(texts: readonly string[]): void;
  /** It was not opened; `kind` says whether the server was reached. */
  refused(error: RuntimeError, kind: StreamEnd): void;
  /** It has ended after it was opened. */
  lost(error: RuntimeError): void;
}

/** Asks for the stream at once. */
export class SseEndpoint implements StreamOwner {
  readonly what = 'the stream of events';
  readonly resumption = 'none';
  /** Where messages are posted; undefined until the server has named it. */
  endpoint: URL | undefined = undefined;
  readonly #url: URL;
  readonly #wire: HttpWire;
  readonly #hearer: SseHearer;
  readonly #controller = new AbortController();
  readonly #stream: ServerStream;
  /** It is served once it has named its endpoint. */
  #state = serverPushChart.begun;

  constructor(url: URL, wire: HttpWire, hearer: SseHearer, streams: StreamEnvironment) {
    this.#url = url;
    this.#wire = wire;
    this.#hearer = hearer;
    this.#stream = new ServerStream(this, streams);
  }

  close(): void {
    this.#state = serverPushChart.next(this.#state, { type: 'stream.ended' });
    this.#controller.abort();
    this.#stream.close();
  }

  ask(): Promise<SendOutcome> {
    return this.#wire.send({
      what: this.what,
      method: 'GET',
      url: this.#url,
      headers: { accept: 'text/event-stream' },
      signal: this.#controller.signal,
    });
  }

  received(texts: readonly string[]): 'more' {
    if (this.#state.value === 'served') this.#hearer.received(texts);
    else this.#end(violation(this.what, 'begins with a message, not with an endpoint'), 'refused');
    return 'more';
  }

  passedOver({ event, data }: { readonly event: string; readonly data: string }): void {
    if (event !== 'endpoint' || this.#state.value !== 'asked') return;
    const endpoint = URL.canParse(data, this.#url.href) ? new URL(data, this.#url) : undefined;
    if (endpoint?.origin !== this.#url.origin) {
      const why = `names ${quoted(data)} as its endpoint, and nothing is sent to another origin than ${this.#url.origin}`;
      return this.#end(violation(`GET ${placeOf(this.#url)}`, why), 'refused');
    }
    this.#state = serverPushChart.next(this.#state, { type: 'stream.served' });
    this.endpoint = endpoint;
    this.#hearer.opened();
  }

  gaveUp(error: RuntimeError, kind: StreamEnd): void {
    this.#end(error, kind);
  }

  #end(error: RuntimeError, kind: StreamEnd): void {
    if (this.#state.value === 'over') return;
    this.close();
    if (this.endpoint) this.#hearer.lost(error);
    else this.#hearer.refused(error, kind);
  }
}
