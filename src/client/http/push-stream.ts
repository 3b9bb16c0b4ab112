/**
 * The optional stream for a server's requests and notifications that do not belong to a request
 * from the host.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import { serverPushChart } from '../../machines/server-push.machine.ts';
import type { ServerPushEvent } from '../../machines/server-push.machine.ts';
import type { RuntimeError } from '../../protocol/errors.ts';
import { ServerStream, headerOfEventId } from './server-stream.ts';
import type { StreamEnd, StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, SendOutcome } from './wire.ts';

/** Callbacks of the stream. */
export interface PushHearer {
  received(texts: readonly string[]): void;
  /** The server has no such stream. */
  absent(error: RuntimeError): void;
  /** The server no longer knows the session. */
  expired(): void;
  /** The stream has ended for good. */
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
  #state = serverPushChart.begun;

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
    this.#move('stream.ended');
    this.#controller.abort();
    this.#stream.close();
  }

  ask(lastEventId: string | undefined): Promise<SendOutcome> {
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
    this.#move('stream.served');
  }

  received(texts: readonly string[]): 'more' {
    this.#hearer.received(texts);
    return 'more';
  }

  gaveUp(error: RuntimeError, kind: StreamEnd): void {
    const { status } = error;
    const { value: before } = this.#state;
    if (before === 'over') return;
    this.#move('stream.ended');
    if (status === 404 && before === 'served') return this.#hearer.expired();
    // Some servers without such a stream answer with 404, some with an error or a page.
    if (kind === 'refused' && before === 'asked') return this.#hearer.absent(error);
    this.#hearer.ended(error, kind);
  }

  #move(type: ServerPushEvent['type']): void {
    this.#state = serverPushChart.next(this.#state, { type });
  }
}
