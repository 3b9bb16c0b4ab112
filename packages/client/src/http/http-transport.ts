/** What differs between the transports of the specification over HTTP. */
import type { Report } from '../../../../src/actors/facts.ts';
import { serverPushChart } from './server-push.machine.ts';
import { shownChart } from '../../../../src/actors/transitions.ts';
import type { ServerPushEvent } from './server-push.machine.ts';
import type { RuntimeError } from '../../../../src/protocol/errors.ts';
import { ServerStream, eventHeaders } from './server-stream.ts';
import type { StreamEnd, StreamEnvironment, StreamOwner } from './server-stream.ts';
import type { HttpWire, SendOutcome } from './wire.ts';

/** How the messages of a channel reach the server, and where its own come. */
export interface HttpTransport {
  /** Where messages go. */
  readonly target: URL;
  /** Whether requests are answered on their POST, or on the transport's own stream. */
  readonly answers: 'on-post' | 'apart';
  /** The server may have a stream for messages of its own now. */
  listen(headers: Readonly<Record<string, string>>): void;
  /** The server no longer knows the session of that stream. */
  forget(): void;
  /** Ends what is open. */
  close(): void;
}

/** The channel, as its transport sees it. */
export interface TransportOwner {
  readonly wire: HttpWire;
  readonly streams: StreamEnvironment;
  readonly options: { readonly report: Report };
  received(texts: readonly string[], where: string): void;
  /** The server no longer knows the session. */
  forgotten(): void;
  /** The stream has ended, and the server cannot be reached. */
  unreachable(error: RuntimeError): void;
}

interface StreamRequest {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The stream of a transport. Asks for it at once. */
export abstract class TransportStream implements StreamOwner {
  readonly what: string;
  readonly resumption: StreamOwner['resumption'];
  protected readonly owner: TransportOwner;
  readonly #request: StreamRequest;
  readonly #controller = new AbortController();
  readonly #stream: ServerStream;
  #state = serverPushChart.begun;
  readonly #shown = shownChart('server-push', () => this.#state);

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

  /** It has ended for good; `was`: before that. */
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
