/** Differences between the HTTP transports of the specification. */
import type { Report } from '../../../../src/actors/facts.ts';
import { serverPushChart } from './server-push.machine.ts';
import { chartActor } from '../../../../src/actors/transitions.ts';
import type { ServerPushEvent } from './server-push.machine.ts';
import type { RuntimeError } from '../../../../src/protocol/errors.ts';
import { ServerStream, eventHeaders } from './server-stream.ts';
import type { StreamEnd, StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, SendOutcome } from './wire.ts';

/** Route of a channel's messages to the server, and of the server's own messages. */
export interface HttpTransport {
  /** URL that messages are posted to. */
  readonly target: URL;
  /** `on-post` if requests are answered on their POST, `apart` if on the transport's own stream. */
  readonly answers: 'on-post' | 'apart';
  /** Opens the standalone stream, if the server offers one. */
  listen(headers: Readonly<Record<string, string>>): void;
  /** Drops the standalone stream: the server no longer knows its session. */
  forget(): void;
  /** Closes everything open. */
  close(): void;
}

/** The channel as seen by its transport. */
export interface TransportOwner {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly options: { readonly report: Report };
  received(texts: readonly string[], where: string): void;
  /** The server no longer knows the session. */
  forgotten(): void;
  /** The stream ended, and the server is unreachable. */
  unreachable(error: RuntimeError): void;
}

interface StreamRequest {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The stream of a transport, requested on construction. */
export abstract class TransportStream implements StreamOwner {
  readonly what: string;
  readonly resumption: StreamOwner['resumption'];
  protected readonly owner: TransportOwner;
  readonly #request: StreamRequest;
  readonly #controller = new AbortController();
  readonly #stream: ServerStream;
  #state = serverPushChart.initial;
  readonly #shown = chartActor('server-push', () => this.#state);

  constructor(
    owner: TransportOwner,
    { what, resumption }: Pick<StreamOwner, 'what' | 'resumption'>,
    request: StreamRequest,
  ) {
    this.what = what;
    this.resumption = resumption;
    this.owner = owner;
    this.#request = request;
    this.#stream = new ServerStream(this, owner.streams);
    owner.streams.live.add(this.#shown);
  }

  /** Called when the stream has ended for good; `was` is its previous state. */
  protected abstract ended(error: RuntimeError, kind: StreamEnd, was: 'asked' | 'served'): void;

  protected get state(): 'asked' | 'served' | 'over' {
    return this.#state.value;
  }

  protected served(): void {
    this.#move('stream.served');
  }

  close(): void {
    this.#move('stream.ended');
    this.owner.streams.live.delete(this.#shown);
    this.#controller.abort();
    this.#stream.close();
  }

  ask(lastEventId: string | undefined): Promise<SendOutcome> {
    const { url, headers } = this.#request;
    return this.owner.wire.send({
      what: this.what,
      method: 'GET',
      url,
      headers: eventHeaders(headers, lastEventId),
      signal: this.#controller.signal,
    });
  }

  received(texts: readonly string[]): 'more' {
    this.owner.received(texts, this.what);
    return 'more';
  }

  gaveUp(error: RuntimeError, kind: StreamEnd): void {
    const was = this.state;
    if (was === 'over') return;
    this.close();
    this.ended(error, kind, was);
  }

  #move(type: ServerPushEvent['type']): void {
    this.#state = serverPushChart.next(this.#state, { type });
  }
}
