/**
 * HTTP+SSE transport of 2024-11-05: one stream for all messages from the server, and a URL for
 * messages to it, named by the first event.
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

/** Result of requesting the stream. */
export interface SseHearer {
  /** The server named its endpoint: messages may be posted. */
  opened(): void;
  /** The stream failed to open; `kind` tells whether the server was reached. */
  refused(error: RuntimeError, kind: StreamEnd): void;
}

/** HTTP+SSE transport. Requests its stream on construction. */
export class SseTransport extends TransportStream implements HttpTransport {
  readonly answers = 'apart';
  /** URL of the stream, until the server names the endpoint. */
  target: URL;
  readonly #hearer: SseHearer;

  constructor(owner: TransportOwner, url: URL, hearer: SseHearer) {
    super(owner, { what: 'the stream of events', resumption: 'none' }, { url });
    this.target = url;
    this.#hearer = hearer;
  }

  // One event stream serves all sessions.

  listen(): void {}

  forget(): void {}

  override received(texts: readonly string[]): 'more' {
    if (this.state === 'served') return super.received(texts);
    this.gaveUp(
      violation(this.what, 'must begin with an "endpoint" event, got a message'),
      'refused',
    );
    return 'more';
  }

  passedOver({ event, data }: { readonly event: string; readonly data: string }): void {
    if (event !== 'endpoint' || this.state !== 'asked') return;
    const url = this.target;
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined;
    if (endpoint?.origin !== url.origin) {
      const why = `must name an endpoint at ${url.origin}, got ${quoted(data)}`;
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
