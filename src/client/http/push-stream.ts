/**
 * The stream on which a server tells and asks what belongs to no request of the host's, if it has one.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import type { RuntimeError } from '../../protocol/errors.ts';
import { ServerStream, headerOfEventId } from './server-stream.ts';
import type { StreamEnd, StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, Sent } from './wire.ts';

/** Who hears what comes of it. */
export interface PushHearer {
  received(texts: readonly string[]): void;
  /** The server has none. */
  absent(error: RuntimeError): void;
  /** The server does not know the session any more. */
  expired(): void;
  /** Nothing more comes of it, though the server has one. */
  ended(error: RuntimeError, kind: StreamEnd): void;
}

/** Asks for the stream at once. */
export class PushStream implements StreamOwner {
  readonly what = "the server's own stream";
  readonly resumption = 'anew';
  readonly #wire: HttpWire;
  readonly #request: { readonly url: URL; readonly headers: Readonly<Record<string, string>> };
  readonly #hearer: PushHearer;
  readonly #controller = new AbortController();
  readonly #stream: ServerStream;
  #state: 'new' | 'seen' | 'over' = 'new';

  constructor(
    wire: HttpWire,
    request: { readonly url: URL; readonly headers: Readonly<Record<string, string>> },
    hearer: PushHearer,
    streams: StreamEnvironment,
  ) {
    this.#wire = wire;
    this.#request = request;
    this.#hearer = hearer;
    this.#stream = new ServerStream(this, streams);
  }

  close(): void {
    this.#state = 'over';
    this.#controller.abort();
    this.#stream.close();
  }

  ask(lastEventId: string | undefined): Promise<Sent> {
    const { url, headers } = this.#request;
    return this.#wire.send({
      what: this.what,
      method: 'GET',
      url,
      headers: {
        accept: 'text/event-stream',
        ...headers,
        ...(lastEventId === undefined ? {} : { 'last-event-id': headerOfEventId(lastEventId) }),
      },
      signal: this.#controller.signal,
    });
  }

  opened(): void {
    if (this.#state === 'new') this.#state = 'seen';
  }

  received(texts: readonly string[]): 'more' {
    this.#hearer.received(texts);
    return 'more';
  }

  gaveUp(error: RuntimeError, kind: StreamEnd): void {
    const { status } = error;
    const before = this.#state;
    if (before === 'over') return;
    this.#state = 'over';
    if (status === 404 && before === 'seen') return this.#hearer.expired();
    // Some that have none answer with 404, and some with an error or a page.
    if (kind === 'refused' && before === 'new') return this.#hearer.absent(error);
    this.#hearer.ended(error, kind);
  }
}
