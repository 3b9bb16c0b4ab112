/** One request of ours to the peer, from its asking to its end. */
import type { PeerRequest, RequestFailure } from '../../machines/peer-ports.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { RuntimeErrorCode } from '../../protocol/errors.ts';
import type {
  JsonObject,
  OutboundFrame,
  OutboundNotification,
  OutboundRequest,
  OutboundRequestId,
  WireError,
} from '../../protocol/frames.ts';
import { withMeta } from '../../protocol/meta.ts';
import { Expiring } from './deadline-queue.ts';
import type { RequestIds } from './request-ids.ts';

/** A pending request as the snapshot's `view` shows it. Times are the clock's milliseconds. */
export interface PendingRequest {
  readonly id: OutboundRequestId;
  readonly method: string;
  readonly sentAt: number;
  readonly dueAt: number;
  /** Whether the peer can know of it: before the gate is open it is held. */
  readonly state: 'held' | 'sent';
  /** Whose it is: what `relatedTo` of the request says, and its `meta` for a task's. */
  readonly request: Pick<PeerRequest, 'relatedTo' | 'meta'>;
}

/** A request of ours while it is pending: correlation finds it by its number. */
export class Pending extends Expiring implements PendingRequest {
  number: number;
  readonly request: PeerRequest;
  readonly sentAt: number;
  state: PendingRequest['state'] = 'held';
  readonly #ids: RequestIds;

  constructor(ids: RequestIds, request: PeerRequest, sentAt: number) {
    super();
    this.#ids = ids;
    this.number = ids.next();
    this.request = request;
    // A whole number takes no room of its own.
    this.sentAt = Math.floor(sentAt);
  }

  override get inBackground(): boolean {
    return this.request.inBackground === true;
  }

  /** Made anew each time: ten thousand that wait need not keep ten thousand texts. */
  get id(): OutboundRequestId {
    return this.#ids.of(this.number);
  }

  get method(): string {
    return this.request.method;
  }

  /** It waits again, and will be sent under another id. */
  renew(unserved: OutboundFrame): void {
    this.number = this.#ids.next();
    this.state = 'held';
    if ('params' in unserved) this.request.unserved?.(unserved.params as JsonObject | undefined);
  }

  /** What goes to the peer. Throws what reading the caller's params throws. */
  get frame(): OutboundRequest | OutboundNotification {
    const { id, method, request } = this;
    if (request.awaits === 'delivery') {
      const { params, meta } = request;
      const told = meta ? withMeta(params ?? {}, meta) : params;
      return told ? { jsonrpc: '2.0', method, params: told } : { jsonrpc: '2.0', method };
    }
    const params = paramsOf(request, id);
    return params ? { jsonrpc: '2.0', id, method, params } : { jsonrpc: '2.0', id, method };
  }

  /** @param now the clock's milliseconds */
  elapsedMs(now: number): number {
    return Math.round(now - this.sentAt);
  }

  /**
   * Settles it with an error.
   *
   * @param now the clock's milliseconds
   */
  fail(now: number, code: RuntimeErrorCode, message: string, details: FailureDetails = {}): void {
    const { id, method } = this;
    const request = { method, id, elapsedMs: this.elapsedMs(now) };
    const error = new RuntimeError(code, message, { ...details, request });
    this.request.settle({ ok: false, error });
  }

  /**
   * Settles it with an error of its own, made from this failure.
   *
   * @param now the clock's milliseconds
   */
  failWith(now: number, failure: RequestFailure, cause = failure.cause): void {
    const { code, message, exit, status } = failure;
    this.fail(now, code, message, { cause, exit, status });
  }
}

interface FailureDetails extends Partial<Pick<RequestFailure, 'cause' | 'exit' | 'status'>> {
  readonly remote?: WireError;
}

/** @see MCP 2025-11-25, basic/utilities/progress, "Progress Flow" */
function paramsOf(request: PeerRequest, id: OutboundRequestId): JsonObject | undefined {
  const { params, meta, onProgress } = request;
  if (!onProgress) return meta ? withMeta(params ?? {}, meta) : params;
  const more = { progressToken: id };
  return withMeta(params ?? {}, meta ? { ...meta, ...more } : more);
}

/** Progress as the params of its notification tell it; what is malformed is left out. */
export function progressReportOf(progress: number, params: JsonObject | undefined): ProgressReport {
  const { total, message } = params ?? {};
  return {
    progress,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

/** What requests fail with that are pending when their session ends. */
export const sessionEnded: RequestFailure = {
  code: 'TRANSPORT_CLOSED',
  message: 'The session has ended',
};

/** Settles a request that never becomes pending. */
export function refuse(request: PeerRequest, failure: RequestFailure): void {
  const { code, message, cause, exit, status } = failure;
  const failed = { method: request.method, elapsedMs: 0 };
  const error = new RuntimeError(code, message, { cause, exit, status, request: failed });
  request.settle({ ok: false, error });
}
