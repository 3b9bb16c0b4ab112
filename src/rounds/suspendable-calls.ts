/**
 * The suspendable calls of a session: runs handlers that may request input, keeps calls that await
 * a retry, and finds them by the state that the client returns. If a call is no longer in memory,
 * its handler runs again and gets the earlier answers immediately.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import type {
  SuspendableCallService,
  RequestContext,
  RequestHandler,
  SuspendedCall,
} from '../actors/request-context.ts';
import { maxClientsAtLimit } from '../actors/limits.ts';
import type { RetentionLimits } from '../actors/limits.ts';
import type { Reservation, Quotas } from '../actors/memory-budget.ts';
import type { ActorFactName, Report } from '../actors/facts.ts';
import { textLength } from '../protocol/codec.ts';
import { RuntimeError, fromWireError, shuttingDown } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { roundParams, readRetry } from '../protocol/input-required.ts';
import type { Retry } from '../protocol/input-required.ts';
import { invalidStateError } from './request-state.ts';
import type { RequestState, RecordedInputRequest } from './request-state.ts';
import { SuspendableCall } from './suspendable-call.ts';
import type { SuspendableCallOwner, SuspendableCallScope } from './suspendable-call.ts';

export interface SuspendableCallsOptions extends SuspendableCallScope {
  readonly limits: SuspendableCallScope['limits'] & RetentionLimits;
  /** Memory quotas of the session's clients. */
  readonly quotas: Quotas;
  readonly report: Report<ActorFactName>;
  /**
   * `keep`: suspended handlers stay in memory and continue. `replay`: they always run again, as in
   * another process; for tests.
   */
  readonly resumption: 'keep' | 'replay';
  /** Called when the handler of a suspended call has settled. */
  onCallSettled(): void;
}

/** Shorter requests are not charged to the quota, since the number of waiting calls is bounded. */
const countedLength = 4096;

/** Ended calls to remember, for retries that arrive twice. */
const maxEnded = 64;

export class SuspendableCalls implements SuspendableCallOwner, SuspendableCallService {
  readonly scope: SuspendableCallsOptions;
  /** Suspended and resumed calls, by id. */
  readonly #calls = new Map<string, SuspendableCall>();
  readonly #waiting = new WaitingCalls();
  /** Memory reserved for each call. */
  readonly #reservations = new WeakMap<SuspendableCall, Reservation>();
  /** Calls with unsettled handlers. */
  readonly #unsettled = new Set<SuspendableCall>();
  /** `served`, or the error for retries once the session has ended. */
  #retries: 'served' | { readonly refusedBy: Error } = 'served';

  constructor(options: SuspendableCallsOptions) {
    this.scope = options;
  }

  /** Calls awaiting a retry. */
  get waiting(): readonly (SuspendableCall & SuspendedCall)[] {
    return [...this.#calls.values()].filter(isSuspended);
  }

  /** True if no handler of a suspended call is still running. */
  get isIdle(): boolean {
    return this.#unsettled.size === 0;
  }

  /** Ends the waiting calls, because no retry can arrive any more. */
  close(reason: Error): void {
    this.#retries = { refusedBy: reason };
    for (const call of this.waiting) {
      this.onResumed(call);
      call.cancel(reason);
    }
    for (const call of this.#calls.values()) this.#reservations.get(call)?.release();
  }

  /** Serves one request: a new call or a retry. */
  serve(handler: RequestHandler, exchange: RequestContext): unknown {
    const retry = readRetry(exchange.request.params);
    return retry
      ? this.#retry(handler, exchange, retry)
      : new SuspendableCall(this, exchange).start(handler);
  }

  async #retry(handler: RequestHandler, exchange: RequestContext, retry: Retry): Promise<unknown> {
    const state = await this.#open(exchange, retry.requestState);
    return await this.#resume(handler, exchange, state, retry.inputResponses);
  }

  async #resume(
    handler: RequestHandler,
    exchange: RequestContext,
    state: RequestState,
    answers: JsonObject,
  ): Promise<unknown> {
    if (this.#retries !== 'served') throw fromWireError(shuttingDown);
    const { replay = true, singleUse = false } =
      handler.resumption?.(exchange.request.params) ?? {};
    const kept = this.#calls.get(state.run);
    const before = kept?.outcomeFrom(state.round);
    if (singleUse && (before || !kept)) throw this.#rejectState('it is for one use');
    if (before) return await before;
    if (kept?.is('suspended') && kept.round === state.round) {
      const resumed = await kept.resume(exchange, answers);
      // If the call was evicted meanwhile, or another retry came first, its handler runs again.
      return resumed ?? (await this.#resume(handler, exchange, state, answers));
    }
    const isVoid = kept?.is('void') && kept.round === state.round;
    if (kept && !isVoid && kept.round >= state.round) throw this.#rejectState('its round is over');
    // Another process has resumed the call.
    if (kept && !isVoid) this.#evict(kept, 'The call was resumed by another process');
    if (!replay && !isVoid) {
      return exchange.request.peer.dialect.toolFailure({
        code: 'NOT_RESUMABLE',
        message:
          'This call waited too long for an answer or its process has ended, and it must not run twice. Call the tool again from the start.',
      });
    }
    return await this.#replay(handler, exchange, state, answers);
  }

  #replay(
    handler: RequestHandler,
    exchange: RequestContext,
    state: RequestState,
    answers: JsonObject,
  ) {
    const questions = state.questions.map((question): RecordedInputRequest => {
      const { key } = question;
      // A malformed answer is reported once the handler requests it.
      return question.answer || !Object.hasOwn(answers, key)
        ? question
        : { ...question, answer: answers[key] as JsonObject };
    });
    const refused = questions.find(
      ({ isDemand, answer }) => isDemand && answer && answer['action'] !== 'accept',
    );
    if (refused) {
      throw new RuntimeError('REQUEST_FAILED', `The client did not accept ${refused.label}`);
    }
    const call = new SuspendableCall(this, exchange, { ...state, questions });
    this.#keep(call);
    return call.start(handler);
  }

  /**
   * Decrypts and validates a request state. @throws {ProtocolError} -32602, the same for every
   * rejected state
   */
  async #open(exchange: RequestContext, token: string): Promise<RequestState> {
    const { limits, sealer, timeOfDay } = this.scope;
    if (token.length > limits.maxRequestStateBytes) throw this.#rejectState('it is too long');
    const state = await sealer.open(token);
    if (!state) throw this.#rejectState('it was not sealed by this server');
    if (state.expiresAt < timeOfDay()) throw this.#rejectState('it has expired');
    if (state.principal !== (exchange.request.origin?.principal?.id ?? null)) {
      throw this.#rejectState('it belongs to another principal');
    }
    if (state.request !== (await sealer.digest(roundParams(exchange.request)))) {
      throw this.#rejectState('it belongs to another request');
    }
    // The request may have been cancelled while its state was read.
    if (exchange.hasEnded) throw invalidStateError();
    return state;
  }

  #rejectState(why: string): Error {
    const message = `A request state was refused: ${why}`;
    this.scope.report({ level: 'warning', name: 'state.refused', message });
    return invalidStateError();
  }

  // Events of calls.

  onSuspended(call: SuspendableCall): void {
    const { limits, clock, resumption, report } = this.scope;
    call.suspendedAt = clock.now();
    this.#keep(call);
    if (this.#retries !== 'served') return call.cancel(this.#retries.refusedBy);
    if (resumption === 'replay')
      return this.#evict(call, 'Suspended calls are not kept in memory here');
    const expire = () => {
      const message = `The client did not retry ${call.request.method} within ${limits.suspendedCallTimeoutMs} ms`;
      report({ level: 'info', name: 'call.expired', message });
      this.#evict(call, message);
    };
    this.#waiting.add(call, clock.setTimeout(expire, limits.suspendedCallTimeoutMs));
    const excess = this.#waiting.countVictim(call, limits.maxSuspendedCalls);
    if (excess) {
      const message = `More than ${limits.maxSuspendedCalls} calls await a retry by the client (maxSuspendedCalls)`;
      report({ level: 'warning', name: 'call.expired', message });
      this.#evict(excess, message);
    }
    if (this.#waiting.lengthOf(call) >= countedLength) this.#reserveMemory(call);
  }

  onResumed(call: SuspendableCall): void {
    this.scope.clock.clearTimeout(this.#waiting.delete(call));
  }

  onVoided(call: SuspendableCall): void {
    this.#keep(call);
  }

  onSettled(call: SuspendableCall): void {
    if (!this.#unsettled.delete(call)) return;
    for (const each of this.#endedCalls.slice(0, -maxEnded)) this.#forget(each);
    void this.#retainAnswer(call);
    this.scope.onCallSettled();
  }

  /**
   * Reserves memory for a waiting call, evicting other calls if necessary, and finally the call
   * itself.
   */
  #reserveMemory(call: SuspendableCall): void {
    const { limits, report } = this.scope;
    const { maxRetainedBytes: max } = limits;
    while (!this.#reserve(call, call.request.size)) {
      const ended = this.#endedCalls.find(
        ({ request: { origin } }) => origin?.clientKey === call.request.origin?.clientKey,
      );
      if (ended) {
        this.#forget(ended);
        continue;
      }
      const longest = this.#waiting.memoryVictim(call);
      const message = `Data retained for the client would exceed ${max} bytes (maxRetainedBytes)`;
      report({ level: 'warning', name: 'call.expired', message });
      this.#evict(longest, message);
      if (longest === call) return;
    }
  }

  /** @returns false, without any change, if the bytes do not fit */
  #reserve(call: SuspendableCall, bytes: number): boolean {
    const { quotas, limits } = this.scope;
    const known = this.#reservations.get(call);
    if (known) return known.resize(bytes, limits.maxRetainedBytes);
    const retained = quotas.reserve(call.request.origin?.clientKey, bytes, limits.maxRetainedBytes);
    if (retained) this.#reservations.set(call, retained);
    return retained !== undefined;
  }

  /**
   * Reserves memory for the answer, kept for a retry that arrives twice. If it does not fit, the
   * answer is dropped.
   */
  async #retainAnswer(call: SuspendableCall): Promise<void> {
    let bytes = call.request.size;
    try {
      bytes += textLength(await call.outcomeFrom(call.round));
    } catch {
      // Errors are short and not counted.
    }
    if (!this.#calls.has(call.callId) || !call.hasEnded) return;
    if (this.#retries !== 'served' || !this.#reserve(call, bytes)) this.#forget(call);
  }

  /** Ended calls in memory, oldest first. */
  get #endedCalls(): readonly SuspendableCall[] {
    return [...this.#calls.values()].filter(({ hasEnded }) => hasEnded);
  }

  #forget(call: SuspendableCall): void {
    this.#calls.delete(call.callId);
    this.#reservations.get(call)?.release();
    this.#reservations.delete(call);
  }

  #keep(call: SuspendableCall): void {
    this.#calls.set(call.callId, call);
    this.#unsettled.add(call);
  }

  /** Ends a suspended call. A retry runs its handler again. */
  #evict(call: SuspendableCall, reason: string): void {
    this.onResumed(call);
    this.#forget(call);
    call.cancel(new RuntimeError('CANCELLED', reason));
  }
}

function isSuspended(call: SuspendableCall): call is SuspendableCall & SuspendedCall {
  return call.is('suspended');
}

interface WaitingCall {
  readonly timer: unknown;
  /** The client's key when the call was added; the client may return from another address. */
  readonly clientKey: string | undefined;
  /** Length of the request, UTF-16 units. */
  readonly length: number;
  /** All waiting calls of the client, oldest first. */
  readonly clientCalls: Set<SuspendableCall>;
}

/**
 * Calls awaiting a retry, and their timers. Each client may have as many as one session allows, and
 * all clients together a multiple of that.
 */
class WaitingCalls {
  /** Oldest first. */
  readonly #calls = new Map<SuspendableCall, WaitingCall>();
  /** Waiting calls by client; see `RequestOrigin.clientKey`. */
  readonly #byClient = new Map<string | undefined, Set<SuspendableCall>>();

  /** @param timer ends the wait */
  add(call: SuspendableCall, timer: unknown): void {
    const { origin, size: length } = call.request;
    const clientKey = origin?.clientKey;
    const clientCalls = this.#byClient.get(clientKey) ?? new Set();
    this.#byClient.set(clientKey, clientCalls.add(call));
    this.#calls.set(call, { timer, clientKey, length, clientCalls });
  }

  /** Length of a waiting call's request, UTF-16 units. */
  lengthOf(call: SuspendableCall): number {
    return this.#calls.get(call)?.length ?? 0;
  }

  /** @returns its timer; undefined if the call is not waiting */
  delete(call: SuspendableCall): unknown {
    const waiting = this.#calls.get(call);
    if (!waiting) return undefined;
    this.#calls.delete(call);
    waiting.clientCalls.delete(call);
    if (waiting.clientCalls.size === 0) this.#byClient.delete(waiting.clientKey);
    return waiting.timer;
  }

  /**
   * The call to evict if memory is short: the oldest call of this call's client, or if it has no
   * other, the oldest of the client with the longest requests. May be the given call.
   */
  memoryVictim(call: SuspendableCall): SuspendableCall {
    const own = this.#calls.get(call)?.clientCalls ?? new Set<SuspendableCall>();
    if (own.size > 1) return own.values().next().value ?? call;
    const lengthOf = (calls: Iterable<SuspendableCall>) =>
      [...calls].reduce((sum, each) => sum + this.lengthOf(each), 0);
    let [longest, most] = [own, lengthOf(own)];
    for (const calls of this.#byClient.values()) {
      const length = lengthOf(calls);
      if (length > most) [longest, most] = [calls, length];
    }
    return longest.values().next().value ?? call;
  }

  /**
   * The call to evict after another one was added.
   * @param max maximum number of calls per client
   * @returns the oldest call of this client if over its limit, else of the client with most calls;
   *   undefined if all may stay
   */
  countVictim(call: SuspendableCall, max: number): SuspendableCall | undefined {
    const own = this.#calls.get(call)?.clientCalls;
    if (own && own.size > max) return own.values().next().value;
    if (this.#calls.size <= max * maxClientsAtLimit) return undefined;
    let most = own;
    for (const calls of this.#byClient.values()) if (calls.size > (most?.size ?? 0)) most = calls;
    return most?.values().next().value;
  }
}
