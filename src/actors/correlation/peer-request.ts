/** Requests to the peer as promises, for handlers and the roots query. */
import type { Ref } from '../../machines/port.ts';
import type { PeerRequest, CorrelationEvent, RequestOutcome } from '../../machines/peer-ports.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject, RelatedRequest } from '../../protocol/frames.ts';
import { ignoreUnhandled, rejected } from '../request-context.ts';
import type { OutboundRequest } from '../request-context.ts';
import { turnEnd } from '../clock.ts';

/** The context in which requests are sent. */
export interface RequestOwner {
  readonly correlation: Ref<CorrelationEvent>;
  /** See {@link PeerRequest.relatedTo}. */
  readonly relatedTo?: RelatedRequest | undefined;
  /** See {@link PeerRequest.meta}. */
  readonly meta?: JsonObject | undefined;
  /** See {@link PeerRequest.inBackground}. */
  readonly inBackground?: boolean;
  /** See {@link PeerRequest.whenAway}. */
  readonly whenAway?: PeerRequest['whenAway'];
  /** See {@link PeerRequest.awaits}. */
  readonly awaits?: PeerRequest['awaits'];
  /** Called when one of the requests has settled. */
  onSettled?(request: AwaitedRequest): void;
}

/** Cancellation reason of a request whose progress callback threw. */
export const progressFailed = 'its progress callback failed';

/** A request to be sent with {@link sendRequests}. */
export interface SendableRequest extends PeerRequest {
  state: 'unsent' | 'sent' | 'settled';
}

/** A request whose result a caller awaits. Sent with {@link sendRequests}. */
export class AwaitedRequest implements SendableRequest {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly relatedTo: RelatedRequest | undefined;
  readonly meta: JsonObject | undefined;
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly inBackground: boolean | undefined;
  readonly whenAway: PeerRequest['whenAway'];
  readonly awaits: PeerRequest['awaits'];
  readonly onProgress: ((progress: ProgressReport) => void) | undefined;
  /** Index in the owner's list of unsettled requests. Written by the owner only. */
  listIndex = 0;
  ticket: PeerRequest['ticket'] = undefined;
  state: SendableRequest['state'] = 'unsent';
  /** Rejects with a {@link RuntimeError}, or with the error of a progress callback. */
  readonly result: Promise<JsonObject>;
  readonly #owner: RequestOwner;
  readonly #signal: AbortSignal | undefined;
  #resolve!: (result: JsonObject) => void;
  #reject!: (error: unknown) => void;

  constructor(spec: OutboundRequest, asker: RequestOwner) {
    this.method = spec.method;
    this.params = spec.params;
    this.relatedTo = asker.relatedTo;
    this.meta = asker.meta;
    this.timeoutMs = spec.timeoutMs;
    this.maxTotalMs = spec.maxTotalMs;
    this.inBackground = asker.inBackground;
    this.whenAway = asker.whenAway;
    this.awaits = asker.awaits;
    const { onProgress, signal } = spec;
    this.onProgress = onProgress && ((progress) => this.#report(onProgress, progress));
    this.#owner = asker;
    this.#signal = signal;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    signal?.addEventListener('abort', this);
  }

  settle(outcome: RequestOutcome): void {
    if (outcome.ok) {
      this.#resolve(outcome.result);
      this.#end();
    } else {
      this.#fail(outcome.error);
    }
  }

  /**
   * Cancels the request, at the peer too if it was sent.
   *
   * @param reason becomes the error's `cause`
   */
  cancel(reason: unknown): void {
    const { correlation } = this.#owner;
    if (this.state === 'sent') correlation.send({ type: 'request.cancel', request: this, reason });
    else if (this.state === 'unsent') this.#fail(cancelledBeforeSend(this.method, reason));
  }

  /** Handles the signal's `abort` event. */
  handleEvent(): void {
    this.cancel(this.#signal?.reason);
  }

  /** Calls the progress callback. Its error fails the request instead of the correlation actor. */
  #report(onProgress: (progress: ProgressReport) => void, progress: ProgressReport): void {
    try {
      onProgress(progress);
    } catch (error) {
      void ignoreUnhandled(this.result);
      this.#reject(error);
      this.cancel(progressFailed);
    }
  }

  #fail(error: RuntimeError): void {
    // Marked only on failure: successful requests need no rejection handler.
    void ignoreUnhandled(this.result);
    this.#reject(error);
    this.#end();
  }

  #end(): void {
    this.state = 'settled';
    this.#signal?.removeEventListener('abort', this);
    this.#owner.onSettled?.(this);
  }
}

/** Passes unsent requests to the correlation actor. */
export function sendRequests(
  correlation: Ref<CorrelationEvent>,
  requests: readonly SendableRequest[],
): void {
  const unsent = requests.every(isUnsent) ? requests : requests.filter(isUnsent);
  if (unsent.length === 0) return;
  if (!isActive(correlation)) return rejectAll(unsent);
  for (const request of unsent) request.state = 'sent';
  correlation.send({ type: 'requests.send', requests: unsent });
  // A busy actor keeps them in its mailbox, and loses them if it is stopped first.
  if (unsent.some(isUnreceived)) {
    void turnEnd.then(() => {
      if (!isActive(correlation)) rejectAll(unsent.filter(isUnreceived));
    });
  }
}

function isActive(correlation: Ref<CorrelationEvent>): boolean {
  return correlation.getSnapshot().status === 'active';
}

function isUnsent({ state }: SendableRequest): boolean {
  return state === 'unsent';
}

function isUnreceived({ state, ticket }: SendableRequest): boolean {
  return state === 'sent' && !ticket;
}

function rejectAll(requests: readonly SendableRequest[]): void {
  for (const request of requests) {
    const { method } = request;
    const message = `${method} was not sent: the session has ended`;
    const failed = { method, elapsedMs: 0 };
    const error = new RuntimeError('TRANSPORT_CLOSED', message, { request: failed });
    request.settle({ ok: false, error });
  }
}

/**
 * Sends a request at once.
 * @throws {RuntimeError} on every failure. Ignoring the promise does not end the process.
 */
export function requestPeer(
  correlation: Ref<CorrelationEvent>,
  spec: OutboundRequest,
  { inBackground = false, relatedTo }: Pick<RequestOwner, 'inBackground' | 'relatedTo'> = {},
): Promise<JsonObject> {
  const aborted = rejectedIfAborted(spec);
  if (aborted) return aborted;
  const request = new AwaitedRequest(spec, { correlation, inBackground, relatedTo });
  sendRequests(correlation, [request]);
  return request.result;
}

/** A rejected promise if the signal has already fired; otherwise undefined. */
export function rejectedIfAborted({ method, signal }: OutboundRequest): Promise<never> | undefined {
  if (!signal?.aborted) return undefined;
  return rejected(cancelledBeforeSend(method, signal.reason));
}

/** The error of a request cancelled before it was sent. */
export function cancelledBeforeSend(method: string, reason: unknown): RuntimeError {
  const message = `${method} was not sent: ${describeReason(reason)}`;
  return new RuntimeError('CANCELLED', message, {
    cause: reason,
    request: { method, elapsedMs: 0 },
  });
}

/** An abort reason as text for the peer, never a stack. Text from a peer is forwarded unchanged. */
export function describeReason(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  const isForwarded = reason instanceof RuntimeError && reason.code === 'CANCELLED';
  if (isForwarded && typeof reason.cause === 'string') return reason.cause;
  return reason instanceof Error ? reason.message : 'cancelled';
}
