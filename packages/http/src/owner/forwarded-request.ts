/**
 * A request for a session of another node, at the node that received it: sent to the owner over
 * HTTP, and answered as fast as the client reads.
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
  /** Body of a POST; empty for other methods. */
  readonly body: string;
  /** True if the response to the body is sent here, not on another stream. */
  readonly expectsResponse: boolean;
  /** Names of nodes that were tried without success. */
  readonly tried: readonly string[];
  /**
   * Looks the owner up again. The request was not processed, and another node may own the session
   * by now.
   */
  retry(tried: readonly string[]): void;
}

/** A node that requests are forwarded to. */
export interface PeerNode {
  /** Name of its lease. */
  readonly node: string;
  readonly address: NodeAddress;
}

/** Settings and callbacks shared by the forwarded requests of a node. */
export interface ForwardContext {
  readonly report: HttpReport;
  readonly limits: { readonly retryMs: number };
  send(peer: PeerNode, forward: Forward, listener: PeerListener): PeerRequest;
  /** Called when the peer answers. */
  onReachable(peer: PeerNode): void;
  /** Called when the peer does not answer. */
  onUnreachable(peer: PeerNode, why: Error): void;
  /** Called when the request was sent. */
  onStarted(request: ForwardedRequest): void;
  /** Called when the request has ended. */
  onEnded(request: ForwardedRequest): void;
}

/** Largest response body that is buffered and sent at once, bytes. */
const maxBufferedBytes = 64 * 1024;

/** Unsent bytes at which the peer is paused for a slow client. */
const maxBacklogBytes = 256 * 1024;

/** Headers that belong to a single connection. */
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
  readonly #nodes: ForwardContext;
  readonly #request: PeerRequest;
  #state = forwardChart.initial;
  #head: Pick<HttpAnswer, 'status' | 'headers'> = { status: 500 };
  /** Buffered body of a short response. */
  #chunks: Uint8Array[] = [];
  #sink: WatchedSink | undefined = undefined;
  /** Undefined unless the response is an event stream. */
  #events: EventScan | undefined = undefined;
  /**
   * Error events for the requests in the body, for a stream that breaks before its first event id.
   */
  #errors: string | undefined = undefined;
  #stopWatching: () => void = () => {};

  /** @throws {StoreUnavailable} if the request cannot be sent to this peer */
  constructor(forward: Forward, peer: PeerNode, nodes: ForwardContext) {
    this.#forward = forward;
    this.#peer = peer;
    this.#nodes = nodes;
    this.#request = nodes.send(peer, forward, this);
    nodes.onStarted(this);
    this.#stopWatching = forward.exchange.onDisconnected(() => this.#abort());
  }

  unreachable(why: Error): void {
    this.#nodes.onUnreachable(this.#peer, why);
    this.#retryElsewhere();
  }

  responded({ status, headers, outcome }: PeerResponse): void {
    const { exchange } = this.#forward;
    if (outcome === 'moved') return this.#retryElsewhere();
    if (outcome === 'refused') return this.#rejectUntrusted();
    if (outcome !== 'served') {
      return this.broken(new Error(`another program answers there, with status ${status}`));
    }
    this.#nodes.onReachable(this.#peer);
    const passed: { [name: string]: string } = {};
    for (const [name, value] of headers) if (!hopByHop.has(name)) passed[name] = value;
    const { 'content-length': length, 'content-type': type = '', ...own } = passed;
    const isStream = type.startsWith('text/event-stream');
    if (
      !isStream &&
      Number(length ?? 0) <= maxBufferedBytes &&
      (length !== undefined || status === 204)
    ) {
      this.#move('answer.started');
      this.#head = { status, headers: type === '' ? own : { ...own, 'content-type': type } };
      return;
    }
    this.#move('relay.started');
    if (isStream) this.#events = new EventScan();
    if (isStream && exchange.method === 'POST') this.#errors = errorsFor(this.#forward);
    this.#sink = exchange.relay(status, passed);
    this.#sink.setOwner(this);
  }

  data(chunk: Uint8Array): void {
    if (this.#state.value === 'buffering') this.#chunks.push(chunk);
    const sink = this.#sink;
    if (!sink || this.#state.value !== 'relaying') return;
    this.#events?.take(chunk);
    sink.write(chunk);
    if (sink.unsentBytes <= maxBacklogBytes) return;
    this.#request.pause();
    sink.onDrained(() => this.#request.resume());
  }

  ended(): void {
    const { value } = this.#state;
    if (!this.#finish('request.ended')) return;
    if (value === 'relaying') return this.#sink?.end();
    const body = textOf(this.#chunks);
    this.#forward.exchange.answer(body === '' ? this.#head : { ...this.#head, body });
  }

  broken(why: Error): void {
    const { value } = this.#state;
    if (!this.#finish('peer.failed')) return;
    this.#nodes.onUnreachable(this.#peer, why);
    if (value !== 'relaying') return this.#forward.exchange.answer(peerFailedAnswer(this.#forward));
    if (!this.#events) return this.#sink?.cut();
    this.#sink?.write(this.#finalEvents(this.#events));
    this.#sink?.end();
  }

  /** Ends a standalone stream for a drain; its client reconnects. */
  close(): void {
    if (this.#forward.exchange.method !== 'GET') return;
    if (this.#events?.isBetweenEvents) this.#sink?.write(this.#retryEvent);
    this.#sink?.end();
    this.#abort();
  }

  // Callbacks of the client's connection.

  get tokenValidity(): TokenValidity | undefined {
    const { method, tokenValidity } = this.#forward.exchange;
    return method === 'GET' ? tokenValidity : undefined;
  }

  onTokenEnded(end: TokenEnd): void {
    const message = `The token of a forwarded stream ${describeEnd[end]}: its client must reconnect with another one`;
    formatReport(this.#nodes.report, 'info', `authorization.${end}`, message);
    this.close();
  }

  onStalled(why: string): void {
    const message = `The client was cut off from a stream of another node: it ${why}`;
    formatReport(this.#nodes.report, 'warning', 'stream.cut', message);
    this.#sink?.end();
    this.#abort();
  }

  #move(type: ForwardEvent['type']): void {
    this.#state = forwardChart.next(this.#state, { type });
  }

  #retryElsewhere(): void {
    if (!this.#finish('request.ended')) return;
    this.#forward.retry([...this.#forward.tried, this.#peer.node]);
  }

  #rejectUntrusted(): void {
    const why = new Error("it rejects this node's signature: both need a common key in stateKeys");
    if (!this.#finish('request.ended')) return;
    this.#nodes.onUnreachable(this.#peer, why);
    const error = new StoreUnavailable('refused', why.message, { retryAfterMs: 1000 });
    this.#forward.exchange.answer(unavailable(error, this.#nodes.report));
  }

  #abort(): void {
    if (!this.#finish('request.ended')) return;
    this.#request.abort();
    this.#sink?.cut();
  }

  /** @returns false if the request had already ended */
  #finish(type: 'request.ended' | 'peer.failed'): boolean {
    if (this.#state.status === 'done') return false;
    this.#move(type);
    this.#stopWatching();
    this.#nodes.onEnded(this);
    return true;
  }

  get #retryEvent(): string {
    return `retry: ${this.#nodes.limits.retryMs}\n\n`;
  }

  /**
   * Final output of a broken stream. The client resumes from its last event id; without one, its
   * requests end with errors.
   */
  #finalEvents({ isBetweenEvents, hasEventId }: EventScan): string {
    if (hasEventId || this.#errors === undefined) return isBetweenEvents ? this.#retryEvent : '';
    // An unfinished event would be read as a message.
    return `${isBetweenEvents ? '' : '\nevent: cut\n\n'}${this.#errors}`;
  }
}

/** Response for a request whose owner failed, so that it is unknown whether it was processed. */
function peerFailedAnswer(forward: Forward): HttpAnswer {
  const body = forward.expectsResponse ? errorTextFor(forward.body) : undefined;
  if (body === undefined) {
    const message = 'The process that owns the session has ended; try again';
    return httpError(503, message, { 'retry-after': '1' });
  }
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

function errorsFor({ body, expectsResponse }: Forward): string | undefined {
  const text = expectsResponse ? errorTextFor(body) : undefined;
  return text === undefined ? undefined : `data: ${text}\n\n`;
}

/** Error responses for the requests in a body; undefined if it has none. */
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
