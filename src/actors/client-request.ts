/** A request to the client as a promise: what handlers and the roots machine's `ask` await. */
import type { Ref } from '../machines/port.ts';
import type { ClientRequest, CorrelationEvent, ProgressReport } from '../machines/session-ports.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';

export interface RequestSpec {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  /** See {@link ClientRequest.timeoutMs}. */
  readonly timeoutMs: number;
  /** See {@link ClientRequest.maxTotalMs}. */
  readonly maxTotalMs: number;
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Cancels the request, and tells the client. */
  readonly signal?: AbortSignal | undefined;
}

/** A request, undefined where it was cancelled before it was sent, and its promise. */
export interface SentRequest {
  readonly request: ClientRequest | undefined;
  /** Rejects with a {@link RuntimeError}. A caller that forgets it does not end the process. */
  readonly result: Promise<JsonObject>;
}

/** Hands a request to the correlation actor. */
export function requestClient(
  correlation: Ref<CorrelationEvent>,
  { method, params, timeoutMs, maxTotalMs, onProgress, signal }: RequestSpec,
  onSettled?: (request: ClientRequest) => void,
): SentRequest {
  if (signal?.aborted) {
    const message = `${method} was not sent: ${describeReason(signal.reason)}`;
    return { request: undefined, result: refused(new RuntimeError('CANCELLED', message)) };
  }
  const { promise, resolve, reject } = deferred<JsonObject>();
  const cancel = () => {
    const reason = describeReason(signal?.reason);
    correlation.send({ type: 'request.cancel', request, reason });
  };
  const request: ClientRequest = {
    method,
    timeoutMs,
    maxTotalMs,
    ...(params ? { params } : {}),
    ...(onProgress ? { onProgress: guarded(onProgress, reject) } : {}),
    settle: (outcome) => {
      signal?.removeEventListener('abort', cancel);
      onSettled?.(request);
      if (outcome.ok) resolve(outcome.result);
      else reject(outcome.error);
    },
  };
  signal?.addEventListener('abort', cancel);
  correlation.send({ type: 'request.send', request });
  return { request, result: promise };
}

/** The promise of a request that is not sent. A caller that forgets it does not end the process. */
export function refused(error: RuntimeError): Promise<never> {
  const promise = Promise.reject(error);
  promise.catch(() => {});
  return promise;
}

/** An error thrown by a progress callback is its request's, not the correlation actor's. */
function guarded(
  onProgress: (progress: ProgressReport) => void,
  reject: (error: unknown) => void,
): (progress: ProgressReport) => void {
  return (progress) => {
    try {
      onProgress(progress);
    } catch (error) {
      reject(error);
    }
  };
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
