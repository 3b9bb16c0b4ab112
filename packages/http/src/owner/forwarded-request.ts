/**
 * A request whose session another node owns, at the node that took it: the request goes to the owner over HTTP, and
 * the response comes back as fast as its client takes it.
 */
import { defaultLimits } from '../../../../src/actors/limits.ts';
import { forwardChart } from '../forward/forward.machine.ts';
import type { ForwardEvent } from '../forward/forward.machine.ts';
import { isJsonObject, isRequestId } from '../../../../src/protocol/classify.ts';
import { decodeLine } from '../../../../src/protocol/codec.ts';
import type { InboundFrame, RequestId } from '../../../../src/protocol/frames.ts';
import { describeEnd } from '../token-validity.ts';
import type { TokenValidity, TokenEnd } from '../token-validity.ts';
import { httpError } from '../checks.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { PeerListener, PeerRequest, PeerResponse } from '../forward/peer-client.ts';
import type { HttpAnswer, HttpExchange } from '../http-exchange.ts';
import type { NodeAddress } from '../nodes/stores.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';
import { EventScan } from './event-scan.ts';
import { processEnded, unavailable } from './store-errors.ts';

/** A request to forward. */
export interface Forward {
  readonly exchange: HttpExchange;
  /** The body of a POST; empty for other requests. */
  readonly body: string;
  /** True if the message in the body is answered here, and not on another stream. */
  readonly isAnswered: boolean;
  /** The nodes that were asked in vain, by name. */
  readonly tried: readonly string[];
  /** Reads the directory again: nothing was done, and another node may have the session by now. */
  again(tried: readonly string[]): void;
}

/** A node that requests are forwarded to. */
export interface PeerNode {
  /** The name of its lease. */
  readonly node: string;
  readonly address: NodeAddress;
}

/** What the forwarded requests of a node have in common. */
export interface ForwardContext {
  readonly report: HttpReport;
  readonly limits: { readonly retryMs: number };
  send(peer: PeerNode, forward: Forward, listener: PeerListener): PeerRequest;
  /** The peer answers. */
  reached(peer: PeerNode): void;
  /** The peer does not answer. */
  unreachable(peer: PeerNode, why: Error): void;
  /** The request is on its way. */
  began(request: ForwardedRequest): void;
  /** The request is over here. */
  ended(request: ForwardedRequest): void;
}

/** The longest body that is answered at its end, bytes. */
const shortBytes = 64 * 1024;

/** What may wait here for a client that reads slowly, bytes. */
const waitingBytes = 256 * 1024;

/** Headers of one connection. */
const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'date']);

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function textOf(chunks: readonly Uint8Array[]): string {
  const [first] = chunks;
  if (!first || chunks.length === 1) return decoder.decode(first);
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return decoder.decode(whole);
}

export class ForwardedRequest implements PeerListener, SinkOwner {
  readonly #forward: Forward;
  readonly #peer: PeerNode;
  readonly #home: ForwardContext;
  readonly #request: PeerRequest;
  #state = forwardChart.begun;
  #head: Pick<HttpAnswer, 'status' | 'headers'> = { status: 500 };
  /** The body of a short answer. */
  #chunks: Uint8Array[] = [];
  #sink: WatchedSink | undefined = undefined;
  /** Undefined unless the response is a stream of events. */
  #events: EventScan | undefined = undefined;
  /** Errors for the requests in the body, should the stream break without an event id. */
  #errors: string | undefined = undefined;
  #unwatch: () => void = () => {};

  /** @throws {StoreUnavailable} the request cannot be sent to this peer */
  constructor(forward: Forward, peer: PeerNode, home: ForwardContext) {
    this.#forward = forward;
    this.#peer = peer;
    this.#home = home;
    this.#request = home.send(peer, forward, this);
    home.began(this);
    this.#unwatch = forward.exchange.onDisconnected(() => this.#leave());
  }

  unreached(why: Error): void {
    this.#home.unreachable(this.#peer, why);
    this.#again();
  }

  responded({ status, headers, outcome }: PeerResponse): void {
    const { exchange } = this.#forward;
    if (outcome === 'moved') return this.#again();
    if (outcome === 'refused') return this.#refuse();
    if (outcome !== 'served') {
      return this.broken(new Error(`something else answers there, with ${status}`));
    }
    this.#home.reached(this.#peer);
    const passed: { [name: string]: string } = {};
    for (const [name, value] of headers) if (!hopByHop.has(name)) passed[name] = value;
    const { 'content-length': length, 'content-type': type = '', ...own } = passed;
    const isStream = type.startsWith('text/event-stream');
    if (
      !isStream &&
      Number(length ?? 0) <= shortBytes &&
      (length !== undefined || status === 204)
    ) {
      this.#move('answer.begun');
      this.#head = { status, headers: type === '' ? own : { ...own, 'content-type': type } };
      return;
    }
    this.#move('relay.begun');
    if (isStream) this.#events = new EventScan();
    if (isStream && exchange.method === 'POST') this.#errors = errorsFor(this.#forward);
    this.#sink = exchange.relay(status, passed);
    this.#sink.setOwner(this);
  }

  data(chunk: Uint8Array): void {
    if (this.#state.value === 'answering') this.#chunks.push(chunk);
    const sink = this.#sink;
    if (!sink || this.#state.value !== 'relaying') return;
    this.#events?.take(chunk);
    sink.write(chunk);
    if (sink.unsentBytes <= waitingBytes) return;
    this.#request.pause();
    sink.onDrained(() => this.#request.resume());
  }

  ended(): void {
    const { value } = this.#state;
    if (!this.#over('request.ended')) return;
    if (value === 'relaying') return this.#sink?.end();
    const body = textOf(this.#chunks);
    this.#forward.exchange.answer(body === '' ? this.#head : { ...this.#head, body });
  }

  broken(why: Error): void {
    const { value } = this.#state;
    if (!this.#over('peer.failed')) return;
    this.#home.unreachable(this.#peer, why);
    if (value !== 'relaying') return this.#forward.exchange.answer(endedAnswer(this.#forward));
    if (!this.#events) return this.#sink?.cut();
    this.#sink?.write(this.#lastWords(this.#events));
    this.#sink?.end();
  }

  /** The node drains: a stream that has no end of its own ends here, and its client comes back for it. */
  close(): void {
    if (this.#forward.exchange.method !== 'GET') return;
    if (this.#events?.isWhole) this.#sink?.write(this.#retry);
    this.#sink?.end();
    this.#leave();
  }

  // What its connection to the client tells.

  get tokenValidity(): TokenValidity | undefined {
    const { method, tokenValidity } = this.#forward.exchange;
    return method === 'GET' ? tokenValidity : undefined;
  }

  onTokenEnded(end: TokenEnd): void {
    const message = `The token that a stream was opened with ${describeEnd[end]}: its client has to come back with another one`;
    formatReport(this.#home.report, 'info', `authorization.${end}`, message);
    this.close();
  }

  onStalled(why: string): void {
    const message = `The client was cut off from a stream of another node: it ${why}`;
    formatReport(this.#home.report, 'warning', 'stream.cut', message);
    this.#sink?.end();
    this.#leave();
  }

  #move(type: ForwardEvent['type']): void {
    this.#state = forwardChart.next(this.#state, { type });
  }

  #again(): void {
    if (!this.#over('request.ended')) return;
    this.#forward.again([...this.#forward.tried, this.#peer.node]);
  }

  #refuse(): void {
    const why = new Error(
      'it does not trust the signature of this node: both need a key of stateKeys in common',
    );
    if (!this.#over('request.ended')) return;
    this.#home.unreachable(this.#peer, why);
    const error = new StoreUnavailable('refused', why.message, { retryAfterMs: 1000 });
    this.#forward.exchange.answer(unavailable(error, this.#home.report));
  }

  #leave(): void {
    if (!this.#over('request.ended')) return;
    this.#request.abort();
    this.#sink?.cut();
  }

  /** @returns false if it was over before */
  #over(type: 'request.ended' | 'peer.failed'): boolean {
    if (this.#state.status === 'done') return false;
    this.#move(type);
    this.#unwatch();
    this.#home.ended(this);
    return true;
  }

  get #retry(): string {
    return `retry: ${this.#home.limits.retryMs}\n\n`;
  }

  /** The client resumes from its last event id; without one, its requests end with errors. */
  #lastWords({ isWhole, hasId }: EventScan): string {
    if (hasId || this.#errors === undefined) return isWhole ? this.#retry : '';
    // An event that has no end yet would be read as a message.
    return `${isWhole ? '' : '\nevent: cut\n\n'}${this.#errors}`;
  }
}

/** For a message whose node has failed: whether it was served is unknown. */
function endedAnswer(forward: Forward): HttpAnswer {
  const body = forward.isAnswered ? errorTextFor(forward.body) : undefined;
  if (body === undefined) {
    const message = 'The process that has the session has ended; try again';
    return httpError(503, message, { 'retry-after': '1' });
  }
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

function errorsFor({ body, isAnswered }: Forward): string | undefined {
  const text = isAnswered ? errorTextFor(body) : undefined;
  return text === undefined ? undefined : `data: ${text}\n\n`;
}

/** The errors for the requests in a body; undefined if it has none. */
function errorTextFor(body: string): string | undefined {
  const frame = decodeLine(body, defaultLimits.maxDepth);
  const errors = idsOf(frame).map(processEnded);
  if (errors.length === 0) return undefined;
  return JSON.stringify(frame.kind === 'batch' ? errors : errors[0]);
}

function idsOf(frame: InboundFrame): readonly RequestId[] {
  if (frame.kind === 'request') return [frame.id];
  if (frame.kind !== 'batch') return [];
  return frame.messages.flatMap((message) =>
    isJsonObject(message) && 'method' in message && isRequestId(message['id'])
      ? [message['id']]
      : [],
  );
}
