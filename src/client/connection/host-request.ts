/** One request of a host's to its server, from its asking to its end. */
import { failWithCallers, failedWithCallers } from '../../actors/caller-frames.ts';
import { progressFailed } from '../../actors/correlation/peer-request.ts';
import type { SendableRequest } from '../../actors/correlation/peer-request.ts';
import type { PeerRequest, RequestOutcome } from '../../machines/peer-ports.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { RuntimeError, fromWireError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { RoundsCall } from '../asked/input-rounds.ts';
import type { HostRequestOptions } from './options.ts';

/**
 * How a request is sent, for how long, and what follows on its end. Those in a row that want the same
 * and nothing special share one.
 */
export interface RequestManner
  extends
    Pick<HostRequestOptions, 'signal' | 'onProgress' | 'whenAway' | 'retry' | 'onTask'>,
    Pick<PeerRequest, 'timeoutMs' | 'maxTotalMs'> {
  readonly awaits: 'answer' | 'delivery';
  /** Whether its result may ask the host something, to be called again with the answer. */
  readonly mayAsk: 'yes' | 'no';
  /** `held`: the task that the call becomes does not end with it. */
  readonly task?: 'held' | undefined;
  /** Who knows what follows on its end. */
  readonly owner: HostRequestOwner;
}

/** A call whose result may ask, or be a task. */
export interface HostCall extends RoundsCall, Pick<RequestManner, 'onTask' | 'task'> {}

/** What is asked, and how. */
export interface HostRequestSpec extends Pick<PeerRequest, 'method' | 'params'> {
  readonly manner: RequestManner;
}

/** A request that was sent, as its owner sees it. */
export type AskedOfServer = PeerRequest & HostRequestSpec;

/** Who sends requests, and knows what follows on their ends. */
export interface HostRequestOwner {
  /** Ends it before its answer. */
  cancel(request: AskedOfServer, reason: unknown): void;
  /**
   * Its result, after the rounds that the first one asks for; undefined if that is the last one.
   *
   * @throws {RuntimeError} PROTOCOL_VIOLATION: it asks for what the protocol does not know
   */
  goOn(request: AskedOfServer, result: JsonObject): Promise<JsonObject> | undefined;
  /** Its result if it is sent once more; the error if it must not be. */
  repeat(request: AskedOfServer, error: Error): Promise<JsonObject>;
}

/** Whose promise a request settles, and with what. */
export interface HostRequestEnd<T> {
  /** Makes what the host gets of the result. Throws what is wrong with it. */
  readonly read: (result: JsonObject) => T;
  readonly resolve: (value: T | PromiseLike<T>) => void;
}

/**
 * All that is kept of a request while it is pending. Of ten thousand each has one record and one
 * promise, so nothing here is nested.
 */
export class HostRequest<T> implements SendableRequest, HostRequestSpec {
  readonly method: string;
  params: JsonObject | undefined;
  readonly manner: RequestManner;
  state: SendableRequest['state'] = 'unsent';
  ticket: PeerRequest['ticket'] = undefined;
  readonly #read: HostRequestEnd<T>['read'];
  readonly #resolve: HostRequestEnd<T>['resolve'];

  constructor(spec: HostRequestSpec, end: HostRequestEnd<T>) {
    this.method = spec.method;
    this.params = spec.params;
    this.manner = spec.manner;
    this.#read = end.read;
    this.#resolve = end.resolve;
    this.manner.signal?.addEventListener('abort', this);
  }

  get awaits(): PeerRequest['awaits'] {
    return this.manner.awaits;
  }

  get whenAway(): PeerRequest['whenAway'] {
    return this.manner.whenAway;
  }

  get timeoutMs(): number {
    return this.manner.timeoutMs;
  }

  get maxTotalMs(): number {
    return this.manner.maxTotalMs;
  }

  /** What nobody will send again is not kept: arguments may be large, and answers late. */
  written(): void {
    const { mayAsk, retry } = this.manner;
    if (mayAsk === 'no' && retry !== 'reads') this.params = undefined;
  }

  unserved(params: JsonObject | undefined): void {
    this.params = params;
  }

  settle(outcome: RequestOutcome): void {
    // What its callback has thrown was its end.
    if (this.state === 'settled') return;
    this.#end();
    if (outcome.ok) this.#succeed(outcome.result);
    else this.#fail(hostError(outcome.error));
  }

  /**
   * Progress gives it more time, so the server is asked for it even if the host does not want to hear
   * of it. What the host's callback throws ends its own request, and nothing else.
   */
  onProgress(progress: ProgressReport): void {
    if (this.state === 'settled') return;
    try {
      this.manner.onProgress?.(progress);
    } catch (error) {
      this.#end();
      this.#reject(error as Error);
      this.manner.owner.cancel(this, progressFailed);
    }
  }

  /** Takes the event of its signal. */
  handleEvent(): void {
    if (this.state === 'sent') this.manner.owner.cancel(this, this.manner.signal?.reason);
  }

  #end(): void {
    this.state = 'settled';
    this.manner.signal?.removeEventListener('abort', this);
  }

  /** One function of the promise's does for both ends: the other one would be kept as long. */
  #reject(error: Error): void {
    this.#resolve(failedWithCallers(error));
  }

  #succeed(result: JsonObject): void {
    try {
      const last = this.manner.mayAsk === 'yes' ? this.manner.owner.goOn(this, result) : undefined;
      this.#resolve(last ? last.then(this.#read, failWithCallers) : this.#read(result));
    } catch (error) {
      this.#reject(error as Error);
    }
  }

  #fail(error: Error): void {
    if (this.manner.retry !== 'reads') return this.#reject(error);
    this.#resolve(this.manner.owner.repeat(this, error).then(this.#read, failWithCallers));
  }
}

/** The error that a host gets: the server's own as it is. */
function hostError(error: RuntimeError): Error {
  if (error.code === 'REQUEST_FAILED' && error.remote) return fromWireError(error.remote);
  if (error.code !== 'TRANSPORT_CLOSED') return error;
  const { message, request, cause } = error;
  return new RuntimeError('CLOSED', message, { cause, ...(request ? { request } : {}) });
}
