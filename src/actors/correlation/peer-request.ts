/** A request to the peer as a promise: what handlers and the roots machine's `ask` await. */
import type { Ref } from '../../machines/port.ts';
import type { PeerRequest, CorrelationEvent, RequestOutcome } from '../../machines/peer-ports.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject, RelatedRequest } from '../../protocol/frames.ts';
import { ignoreUnhandled, rejected } from '../request-context.ts';
import type { OutboundRequest } from '../request-context.ts';
import { turnEnd } from '../clock.ts';

/** On whose behalf something is asked. */
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
  /** Hears of each of its requests that has an outcome. */
  onSettled?(request: AwaitedRequest): void;
}

/** Why a request is cancelled that already failed with what its progress callback threw. */
export const progressFailed = 'its progress callback failed';

/** A request that its asker sends with {@link sendRequests}. */
export interface SendableRequest extends PeerRequest {
  state: 'unsent' | 'sent' | 'settled';
}

/** A request that a caller waits for, from its making to its outcome. It is sent with {@link sendRequests}. */
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
  /** Its index among its asker's requests without an outcome. Only the asker writes it. */
  listIndex = 0;
  ticket: PeerRequest['ticket'] = undefined;
  state: SendableRequest['state'] = 'unsent';
  /** Rejects with a {@link RuntimeError}, or with what a progress callback threw. */
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
   * Ends it. The peer is told, if it has heard of it.
   *
   * @param reason becomes the `cause` of the error
   */
  cancel(reason: unknown): void {
    const { correlation } = this.#owner;
    if (this.state === 'sent') correlation.send({ type: 'request.cancel', request: this, reason });
    else if (this.state === 'unsent') this.#fail(cancelledBeforeSend(this.method, reason));
  }

  /** Takes the event of its signal. */
  handleEvent(): void {
    this.cancel(this.#signal?.reason);
  }

  /** An error thrown by a progress callback is its request's, not the correlation actor's. */
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
    // Only now: a result that comes needs nobody who would hear of a failure.
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

/** Hands requests to the correlation actor, but for those that were cancelled before. */
export function sendRequests(
  correlation: Ref<CorrelationEvent>,
  requests: readonly SendableRequest[],
): void {
  const due = requests.every(isUnsent) ? requests : requests.filter(isUnsent);
  if (due.length === 0) return;
  if (!isActive(correlation)) return refuseAll(due);
  for (const request of due) request.state = 'sent';
  correlation.send({ type: 'requests.send', requests: due });
  // An actor that is busy has them in its mailbox, and loses them if it is stopped before it is done.
  if (due.some(isUntaken)) {
    void turnEnd.then(() => {
      if (!isActive(correlation)) refuseAll(due.filter(isUntaken));
    });
  }
}

function isActive(correlation: Ref<CorrelationEvent>): boolean {
  return correlation.getSnapshot().status === 'active';
}

function isUnsent({ state }: SendableRequest): boolean {
  return state === 'unsent';
}

function isUntaken({ state, ticket }: SendableRequest): boolean {
  return state === 'sent' && !ticket;
}

function refuseAll(requests: readonly SendableRequest[]): void {
  for (const request of requests) {
    const { method } = request;
    const message = `${method} was not sent: the session has ended`;
    const failed = { method, elapsedMs: 0 };
    const error = new RuntimeError('TRANSPORT_CLOSED', message, { request: failed });
    request.settle({ ok: false, error });
  }
}

/**
 * Asks the peer something that is not only a handler's to know, at once.
 * @throws {RuntimeError} every failure. A caller that forgets the promise does not end the process.
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

/** The promise of a request whose signal has already fired; undefined if it has not. */
export function rejectedIfAborted({ method, signal }: OutboundRequest): Promise<never> | undefined {
  if (!signal?.aborted) return undefined;
  return rejected(cancelledBeforeSend(method, signal.reason));
}

/** The error of a request that was cancelled before it was sent. */
export function cancelledBeforeSend(method: string, reason: unknown): RuntimeError {
  const message = `${method} was not sent: ${describeReason(reason)}`;
  return new RuntimeError('CANCELLED', message, {
    cause: reason,
    request: { method, elapsedMs: 0 },
  });
}

/** An abort reason as text for the peer: never a stack. The peer's own words are forwarded as they are. */
export function describeReason(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  const isForwarded = reason instanceof RuntimeError && reason.code === 'CANCELLED';
  if (isForwarded && typeof reason.cause === 'string') return reason.cause;
  return reason instanceof Error ? reason.message : 'cancelled';
}
