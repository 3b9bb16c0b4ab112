/** A request to the client as a promise: what handlers and the roots machine's `ask` await. */
import type { Ref } from '../machines/port.ts';
import type { ClientRequest, CorrelationEvent, ProgressReport } from '../machines/session-ports.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';

export interface RequestSpec {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  /** See {@link ClientRequest.relatedTo}. */
  readonly relatedTo?: RequestId | undefined;
  /** See {@link ClientRequest.meta}. */
  readonly meta?: JsonObject | undefined;
  /** See {@link ClientRequest.timeoutMs}. */
  readonly timeoutMs: number;
  /** See {@link ClientRequest.maxTotalMs}. */
  readonly maxTotalMs: number;
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Cancels the request, and tells the client. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Hands a request to the correlation actor and gives its result.
 * @param open where the request is kept while it has no outcome
 * @throws {RuntimeError} every failure. A caller that forgets the promise does not end the process.
 */
export function requestClient(
  correlation: Ref<CorrelationEvent>,
  { method, params, relatedTo, meta, timeoutMs, maxTotalMs, onProgress, signal }: RequestSpec,
  open?: Set<ClientRequest>,
): Promise<JsonObject> {
  if (signal?.aborted) {
    const message = `${method} was not sent: ${describeReason(signal.reason)}`;
    return refused(new RuntimeError('CANCELLED', message));
  }
  if (correlation.getSnapshot().status !== 'active') {
    const message = `${method} was not sent: the session has ended`;
    return refused(new RuntimeError('TRANSPORT_CLOSED', message));
  }
  const { promise, resolve, reject } = deferred<JsonObject>();
  const cancel = (reason: unknown) =>
    correlation.send({ type: 'request.cancel', request, reason: describeReason(reason) });
  const onAbort = () => cancel(signal?.reason);
  /** An error thrown by a progress callback is its request's, not the correlation actor's. */
  const report = (progress: ProgressReport) => {
    try {
      onProgress?.(progress);
    } catch (error) {
      reject(error);
      cancel('its progress callback failed');
    }
  };
  const request: ClientRequest = {
    method,
    relatedTo,
    meta,
    timeoutMs,
    maxTotalMs,
    ...(params ? { params } : {}),
    ...(onProgress ? { onProgress: report } : {}),
    settle: (outcome) => {
      signal?.removeEventListener('abort', onAbort);
      open?.delete(request);
      if (outcome.ok) resolve(outcome.result);
      else reject(outcome.error);
    },
  };
  signal?.addEventListener('abort', onAbort);
  open?.add(request);
  correlation.send({ type: 'request.send', request });
  return promise;
}

/** The promise of a request that is not sent. A caller that forgets it does not end the process. */
export function refused(error: Error): Promise<never> {
  return forgettable(Promise.reject(error));
}

/** A promise that may fail without anybody listening: whoever asks and does not wait has not failed. */
export function forgettable<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** An abort reason as text for the client: never a stack. */
function describeReason(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  return reason instanceof Error ? reason.message : 'cancelled';
}
