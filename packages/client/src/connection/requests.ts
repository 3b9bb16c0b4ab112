/** Sends, resends and rejects the host's requests to its server. */
import {
  rejectedWithCallerFrames,
  throwWithCallerFrames,
} from '../../../../src/actors/caller-frames.ts';
import { assertDuration } from '../../../../src/actors/clock.ts';
import {
  cancelledBeforeSend,
  sendRequests,
  progressFailed,
} from '../../../../src/actors/correlation/peer-request.ts';
import type { SendableRequest } from '../../../../src/actors/correlation/peer-request.ts';
import type { PendingRequest } from '../../../../src/actors/correlation/correlation.actor.ts';
import { turnEnd } from '../../../../src/actors/clock.ts';
import type { RequestContext } from '../../../../src/actors/request-context.ts';
import { disconnectError } from '../../../../src/protocol/disconnects.ts';
import type { PeerRequest, RequestOutcome } from '../../../../src/machines/peer-ports.ts';
import { viewOf } from '../../../../src/machines/port.ts';
import type { ProgressReport } from '../../../../src/protocol/dialects/dialect.ts';
import { RuntimeError, fromWireError } from '../../../../src/protocol/errors.ts';
import type { JsonObject, RequestId } from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { roundsAfter } from '../asked/input-rounds.ts';
import type { RoundsCall, RoundsHost } from '../asked/input-rounds.ts';
import type { ConnectionScope, ConnectionSnapshot } from './connection-scope.ts';
import type { HostRequestOptions } from './options.ts';

/** Methods that are safe to resend. */
const reads: ReadonlySet<string> = new Set([
  'ping',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]);

/**
 * Requests that a connection sends for itself. A subscription stays pending while open, and so does
 * a probe that the server ignores.
 */
const ofConnections: ReadonlySet<string> = new Set([
  Method.listen,
  Method.discover,
  Method.initialize,
]);

const noOptions: HostRequestOptions = {};

const whole = (result: JsonObject): JsonObject => result;

/** Options of a request, and a callback for its id. */
export interface SentOptions extends HostRequestOptions {
  readonly sent?: ((id: RequestId) => void) | undefined;
  /** See {@link PeerRequest.onPaused}. */
  readonly onPaused?: PeerRequest['onPaused'];
  /** `held`: the call's task outlives the call. Requires `onTask`. */
  readonly task?: 'held' | undefined;
  /**
   * Sends the request verbatim, and resolves to any result, including an input request or a task.
   * Progress is requested only with `onProgress`.
   */
  readonly raw?: true;
  /** Parent call; its end cancels this request. Cheaper than passing the parent's `signal`. */
  readonly within?: EndingCall | undefined;
}

/** A call that may end before the requests sent on its behalf. */
export type EndingCall = Pick<RequestContext, 'hasEnded' | 'signal' | 'whenEnded'>;

/** Requests of one connection. */
export class Requests {
  readonly #scope: ConnectionScope;
  readonly #name: string;
  /** True if a tool's annotations make calling it twice safe. */
  readonly #isHarmless: (tool: string) => boolean;

  readonly #rounds: RoundsHost<HostCall>;
  /** Verbatim requests of this turn: a bridge forwards everything its host sent in one batch. */
  #together: HostRequest<unknown>[] = [];
  /** Cached settings of the last request without special options. */
  #lastPlain: RequestManner | undefined = undefined;
  /** Time since the connection entered its state, ms. */
  readonly #age: () => number;

  constructor(
    scope: ConnectionScope,
    {
      name,
      isHarmless,
      age,
      rounds,
    }: {
      readonly name: string;
      readonly isHarmless: (tool: string) => boolean;
      readonly age: () => number;
      readonly rounds: RoundsHost<HostCall>;
    },
  ) {
    this.#scope = scope;
    this.#name = name;
    this.#isHarmless = isHarmless;
    this.#age = age;
    this.#rounds = rounds;
  }

  /** Number of unsettled requests. */
  get pending(): number {
    return [...this.#books.values()].filter(({ method }) => !ofConnections.has(method)).length;
  }

  /** See `Connection.request`. */
  request(
    method: string,
    params: JsonObject | undefined,
    options?: SentOptions,
  ): Promise<JsonObject> {
    return this.ask(method, params, options, whole);
  }

  /**
   * Like {@link request}, but resolves to the result parsed by `read`.
   *
   * @param read throws if the result is invalid
   */
  ask<T>(
    method: string,
    params: JsonObject | undefined,
    options: SentOptions = noOptions,
    read: (result: JsonObject) => T,
  ): Promise<T> {
    const { limits } = this.#scope.parts;
    const { timeoutMs = limits.requestTimeoutMs } = options;
    const { maxTotalMs = Math.max(timeoutMs, limits.requestMaxTotalMs) } = options;
    const snapshot = this.#snapshot;
    // Only modern servers return input requests, and the era is certain only while connected.
    const isLegacy = isReady(snapshot) && snapshot.context.profile?.era === 'legacy';
    const mayAsk = options.raw || isLegacy ? 'no' : 'yes';
    try {
      const manner = this.#mannerOf(options, { timeoutMs, maxTotalMs, mayAsk });
      return this.#send({ method, params, manner, within: options.within }, read, options.sent);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /** See `Connection.notify`. */
  async notify(
    method: string,
    params: JsonObject | undefined,
    { timeoutMs, signal }: Pick<HostRequestOptions, 'timeoutMs' | 'signal'> = {},
  ): Promise<void> {
    const { limits } = this.#scope.parts;
    const waitMs = timeoutMs ?? limits.requestTimeoutMs;
    assertDuration('timeoutMs', waitMs);
    const times = { timeoutMs: waitMs, maxTotalMs: waitMs };
    const manner = { awaits: 'delivery', mayAsk: 'no', owner: this, signal, ...times } as const;
    await this.#send({ method, params, manner }, whole);
  }

  /** Sends a request now. An invalid request rejects the promise. */
  #send<T>(
    spec: HostRequestSpec,
    read: (result: JsonObject) => T,
    sent?: SentOptions['sent'],
  ): Promise<T> {
    return new Promise((resolve) => {
      const { method, manner, within } = spec;
      const { signal } = manner;
      const snapshot = this.#snapshot;
      const refusal = this.#refusal(method, snapshot);
      // The caller is on the stack, but may be deeper than the engine shows.
      if (refusal) return resolve(rejectedWithCallerFrames(refusal));
      if (signal?.aborted) throw cancelledBeforeSend(method, signal.reason);
      // A parent call that already has its answer does not cancel: only an aborted signal does.
      if (within?.hasEnded && within.signal.aborted) {
        throw cancelledBeforeSend(method, within.signal.reason);
      }
      const request = new HostRequest(spec, read, resolve) as HostRequest<unknown>;
      if (manner.raw && isReady(snapshot)) {
        if (this.#together.push(request) === 1) void turnEnd.then(() => this.#sendTogether());
      } else {
        this.#handOver([request]);
      }
      if (snapshot.value === 'backoff' && manner.whenAway !== 'refuse') {
        this.#scope.parts.actor.send({ type: 'connection.wanted' });
      }
      if (!sent) return;
      // A busy correlation accepts the request and assigns its id later in this turn.
      if (request.ticket) sent(request.ticket.id);
      else void turnEnd.then(() => request.ticket && sent(request.ticket.id));
    });
  }

  #sendTogether(): void {
    const requests = this.#together;
    this.#together = [];
    this.#handOver(requests);
  }

  #handOver(requests: readonly HostRequest<unknown>[]): void {
    sendRequests(this.#snapshot.context.correlation, requests);
    // Arguments may be large and responses late, so params are kept only if the request may be
    // resent.
    for (const request of requests) {
      const { mayAsk, retry } = request.manner;
      const isSentOnce = mayAsk === 'no' && retry !== 'reads';
      if (isSentOnce && request.ticket?.state === 'sent') request.params = undefined;
    }
  }

  /** @throws {RangeError} a time is out of range */
  #mannerOf(
    { signal, onProgress, onPaused, whenAway, retry, onTask, task, raw, within }: SentOptions,
    { timeoutMs, maxTotalMs, mayAsk }: Pick<RequestManner, 'timeoutMs' | 'maxTotalMs' | 'mayAsk'>,
  ): RequestManner {
    const isPlain = !signal && !onProgress && !onPaused && !whenAway && !retry && !onTask;
    const last = isPlain ? this.#lastPlain : undefined;
    const isLast =
      last?.timeoutMs === timeoutMs &&
      last.maxTotalMs === maxTotalMs &&
      last.mayAsk === mayAsk &&
      last.raw === raw;
    if (isLast) return last;
    assertDuration('timeoutMs', timeoutMs);
    assertDuration('maxTotalMs', maxTotalMs);
    const plain = { awaits: 'answer', mayAsk, owner: this, timeoutMs, maxTotalMs, raw } as const;
    if (isPlain) return (this.#lastPlain = plain);
    const special = { signal, onProgress, onPaused, whenAway, retry, onTask, task, within };
    // Spreads would give each request its own hidden class (docs/performance.md).
    return Object.assign(special, plain);
  }

  get #snapshot(): ConnectionSnapshot {
    return this.#scope.parts.actor.getSnapshot();
  }

  cancel(request: AskedOfServer, reason: unknown): void {
    this.#snapshot.context.correlation.send({ type: 'request.cancel', request, reason });
  }

  goOn(request: AskedOfServer, result: JsonObject): Promise<JsonObject> | undefined {
    const { method, params, manner, ticket } = request;
    const { signal, maxTotalMs, onTask, task } = manner;
    const send: RoundsCall['send'] = (next, end) =>
      this.#send({ method, params: next, manner: { ...manner, mayAsk: 'no', signal: end } }, whole);
    const startedAt = ticket?.sentAt ?? this.#scope.parts.clock.now();
    const call: HostCall = { method, params, maxTotalMs, signal, onTask, task, send };
    return roundsAfter(this.#rounds, call, { result, startedAt });
  }

  /** Resends a request if that is safe and may help. */
  repeat(request: AskedOfServer, error: Error): Promise<JsonObject> | undefined {
    if (!this.#mayRepeat(request, error)) return undefined;
    const { method, params, manner } = request;
    const { clock } = this.#scope.parts;
    const now = clock.now();
    const maxTotalMs = (request.ticket?.sentAt ?? now) + manner.maxTotalMs - now;
    const once: RequestManner = { ...manner, maxTotalMs, retry: 'never' };
    return this.#send({ method, params, manner: once, within: manner.within }, whole);
  }

  /**
   * The error if waiting for a connection is pointless: it failed or is closed. Undefined if there
   * is a connection, or may be one again.
   */
  away(method: string, snapshot: ConnectionSnapshot = this.#snapshot): RuntimeError | undefined {
    // Building the messages would cost more than everything else here.
    if (!isEnding(snapshot)) return undefined;
    return stateRefusal(snapshot, `${method} was not sent to ${this.#name}`, this.#age());
  }

  /**
   * The error if a request must be rejected instead of queued; undefined if it is sent or waits.
   */
  #refusal(method: string, snapshot: ConnectionSnapshot): RuntimeError | undefined {
    const away = this.away(method, snapshot);
    if (away || snapshot.context.output === 'flowing') return away;
    const { maxOutboundBytes } = this.#scope.parts.limits;
    const message = `${method} was not sent: ${this.#name} has not read the ${maxOutboundBytes} bytes queued before it`;
    return new RuntimeError('LIMIT_EXCEEDED', message);
  }

  get #books(): ReadonlyMap<number, PendingRequest> {
    const view = viewOf<ReadonlyMap<number, PendingRequest>>(this.#snapshot.context.correlation);
    return view ?? new Map();
  }

  #mayRepeat({ method, params }: AskedOfServer, error: Error): boolean {
    if (!(error instanceof RuntimeError) || error.code !== 'CLOSED') return false;
    if (reads.has(method)) return true;
    const tool = params?.['name'];
    return method === 'tools/call' && typeof tool === 'string' && this.#isHarmless(tool);
  }
}

const isReady = ({ value }: ConnectionSnapshot): boolean =>
  typeof value === 'object' && 'ready' in value;

/** True if the server is unreachable for good. */
function isEnding({ value, status, context }: ConnectionSnapshot): boolean {
  return status !== 'active' || value === 'stopping' || (value === 'failed' && !!context.loss);
}

/**
 * The error if requests can no longer be sent, else undefined.
 *
 * @param ageMs time since the connection entered its state, ms
 */
export function stateRefusal(
  snapshot: ConnectionSnapshot,
  what: string,
  ageMs: number,
): RuntimeError | undefined {
  const { value, context } = snapshot;
  if (value === 'failed' && context.loss) {
    const cause = disconnectError(context.loss);
    const message = `${what}: the connection failed ${Math.round(ageMs / 1000)} s ago. ${cause.message}`;
    return new RuntimeError('NOT_READY', message, {
      cause,
      exit: cause.exit,
      status: cause.status,
    });
  }
  if (!isEnding(snapshot)) return undefined;
  return new RuntimeError('NOT_READY', `${what}: the connection is closed`);
}

/**
 * Delivery settings of a request: options, timeouts and owner. Consecutive requests without special
 * options share one object.
 */
export interface RequestManner
  extends
    Pick<HostRequestOptions, 'signal' | 'onProgress' | 'whenAway' | 'retry' | 'onTask'>,
    Pick<PeerRequest, 'timeoutMs' | 'maxTotalMs' | 'onPaused'> {
  readonly awaits: 'answer' | 'delivery';
  /** `yes` if the result may request input, so that the call is sent again with the answers. */
  readonly mayAsk: 'yes' | 'no';
  /** `held`: the call's task outlives the call. */
  readonly task?: 'held' | undefined;
  /** See {@link SentOptions.raw}. */
  readonly raw?: true | undefined;
  /** See {@link SentOptions.within}. Requests that share settings carry it themselves. */
  readonly within?: EndingCall | undefined;
  /** Handles resends, rounds and cancellation. */
  readonly owner: Requests;
}

/** A call whose result may request input or be a task. */
export interface HostCall extends RoundsCall, Pick<RequestManner, 'onTask' | 'task'> {}

/** Content of a request and its delivery settings. */
export interface HostRequestSpec extends Pick<PeerRequest, 'method' | 'params'> {
  readonly manner: RequestManner;
  readonly within?: EndingCall | undefined;
}

/** A sent request, as its owner sees it. */
export type AskedOfServer = PeerRequest & HostRequestSpec;

/**
 * State of a pending request: one record and one promise. There may be ten thousand, so nothing is
 * nested.
 */
class HostRequest<T> implements SendableRequest, HostRequestSpec {
  readonly method: string;
  params: JsonObject | undefined;
  readonly manner: RequestManner;
  readonly awaits: PeerRequest['awaits'];
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  /**
   * Progress extends the timeout, so it is requested even if the host does not listen, except for
   * verbatim requests.
   */
  readonly onProgress: PeerRequest['onProgress'];
  state: SendableRequest['state'] = 'unsent';
  ticket: PeerRequest['ticket'] = undefined;
  readonly #read: (result: JsonObject) => T;
  readonly #resolve: (value: T | PromiseLike<T>) => void;

  /** @param read parses the result; throws if it is invalid */
  constructor(
    { method, params, manner, within }: HostRequestSpec,
    read: (result: JsonObject) => T,
    resolve: (value: T | PromiseLike<T>) => void,
  ) {
    this.method = method;
    this.params = params;
    this.manner = manner;
    this.awaits = manner.awaits;
    this.timeoutMs = manner.timeoutMs;
    this.maxTotalMs = manner.maxTotalMs;
    this.onProgress = manner.raw && !manner.onProgress ? undefined : HostRequest.#progressed;
    this.#read = read;
    this.#resolve = resolve;
    manner.signal?.addEventListener('abort', this);
    within?.whenEnded(() => this.#cancel(() => within.signal.reason));
  }

  get onPaused(): PeerRequest['onPaused'] {
    return this.manner.onPaused;
  }

  get whenAway(): PeerRequest['whenAway'] {
    return this.manner.whenAway;
  }

  settle(outcome: RequestOutcome): void {
    this.state = 'settled';
    this.manner.signal?.removeEventListener('abort', this);
    if (outcome.ok) this.#succeed(outcome.result);
    else this.#fail(hostError(outcome.error));
  }

  /** An error in the host's callback ends only this request; its later outcome is ignored. */
  static #progressed(this: HostRequest<unknown>, progress: ProgressReport): void {
    try {
      this.manner.onProgress?.(progress);
    } catch (error) {
      this.#reject(error as Error);
      this.manner.owner.cancel(this, progressFailed);
    }
  }

  /** Handles the abort event of its signal. */
  handleEvent(): void {
    this.#cancel(() => this.manner.signal?.reason);
  }

  #cancel(reason: () => unknown): void {
    if (this.state === 'sent') this.manner.owner.cancel(this, reason());
    else if (this.state === 'unsent') {
      this.settle({ ok: false, error: cancelledBeforeSend(this.method, reason()) });
    }
  }

  /**
   * The promise's resolve function also serves for rejections: a second function would be retained
   * just as long.
   */
  #reject(error: Error): void {
    this.#resolve(rejectedWithCallerFrames(error));
  }

  #succeed(result: JsonObject): void {
    try {
      const last = this.manner.mayAsk === 'yes' ? this.manner.owner.goOn(this, result) : undefined;
      this.#resolve(last ? last.then(this.#read, throwWithCallerFrames) : this.#read(result));
    } catch (error) {
      this.#reject(error as Error);
    }
  }

  #fail(error: Error): void {
    const { retry, owner } = this.manner;
    const again = retry === 'reads' ? owner.repeat(this, error) : undefined;
    if (again) this.#resolve(again.then(this.#read, throwWithCallerFrames));
    else this.#reject(error);
  }
}

/** Converts an error for the host; the server's own error is unchanged. */
function hostError(error: RuntimeError): Error {
  if (error.remote) return fromWireError(error.remote);
  if (error.code !== 'TRANSPORT_CLOSED') return error;
  const { message, request, cause } = error;
  return new RuntimeError('CLOSED', message, { cause, ...(request ? { request } : {}) });
}
