/**
 * The transport of 2024-11-05: one stream for everything from the server, and a URL for messages to
 * it, which the first event names.
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import type { RuntimeError } from '../../../../../src/protocol/errors.ts';
import { quoted } from '../../../../../src/protocol/printable.ts';
import { placeOf } from '../address.ts';
import { violation } from '../failures.ts';
import { TransportStream } from '../http-transport.ts';
import type { HttpTransport, TransportOwner } from '../http-transport.ts';
import type { StreamEnd } from '../server-stream.ts';

/** The outcome of asking for the stream. */
export interface SseHearer {
  /** The server has named its endpoint: messages may be posted. */
  opened(): void;
  /** It was not opened; `kind` says whether the server was reached. */
  refused(error: RuntimeError, kind: StreamEnd): void;
}

/** Asks for the stream at once. */
export class SseTransport extends TransportStream implements HttpTransport {
  readonly answers = 'apart';
  /** The URL of the stream, until the server has named the endpoint. */
  target: URL;
  readonly #hearer: SseHearer;

  constructor(owner: TransportOwner, url: URL, hearer: SseHearer) {
    super(owner, { what: 'the stream of events', resumption: 'none' }, { url });
    this.target = url;
    this.#hearer = hearer;
  }

  // The stream of events serves all sessions.

  listen(): void {}

  forget(): void {}

  override received(texts: readonly string[]): 'more' {
    if (this.state === 'served') return super.received(texts);
    this.gaveUp(violation(this.what, 'begins with a message, not with an endpoint'), 'refused');
    return 'more';
  }

  passedOver({ event, data }: { readonly event: string; readonly data: string }): void {
    if (event !== 'endpoint' || this.state !== 'asked') return;
    const url = this.target;
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined;
    if (endpoint?.origin !== url.origin) {
      const why = `names ${quoted(data)} as its endpoint, and nothing is sent to another origin than ${url.origin}`;
      return this.gaveUp(violation(`GET ${placeOf(url)}`, why), 'refused');
    }
    this.served();
    this.target = endpoint;
    this.#hearer.opened();
  }

  protected override ended(error: RuntimeError, kind: StreamEnd, was: 'asked' | 'served'): void {
    if (was === 'served') this.owner.unreachable(error);
    else this.#hearer.refused(error, kind);
  }
}
