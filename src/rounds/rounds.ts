/**
 * Calls that go on in rounds: runs handlers that may ask, keeps those that wait for the client's
 * retry, and finds them again by the state that the client brings back. Where a run is not kept any
 * more its handler is run again, and gets at once what it was answered before.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import type { Clock } from '../actors/clock.ts';
import type { CallRounds, Exchange, RequestHandler, SuspendedCall } from '../actors/exchange.ts';
import type { CorrelationLimits, RetentionLimits, RoundLimits } from '../actors/limits.ts';
import type { Retained, Shares } from '../actors/room.ts';
import type { ActorFactName, Report } from '../actors/facts.ts';
import type { RootsResolver } from '../machines/roots-report.ts';
import { textLength } from '../protocol/codec.ts';
import { RuntimeError, fromWireError, shuttingDown } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { inputRequired, readRetry, withoutRound } from '../protocol/input-required.ts';
import type { Retry } from '../protocol/input-required.ts';
import type { Question } from './question.ts';
import { refusedState } from './request-state.ts';
import type { RequestState, StateSealer, StatedQuestion } from './request-state.ts';
import { Run } from './run.ts';
import type { RunKeeper } from './run.ts';
import { WaitingRuns } from './waiting-runs.ts';

export interface RoundsOptions {
  readonly limits: RoundLimits & RetentionLimits & Pick<CorrelationLimits, 'maxPending'>;
  /** Towards which what is kept of its calls counts. */
  readonly shares: Shares;
  readonly clock: Clock;
  readonly sealer: StateSealer;
  readonly report: Report<ActorFactName>;
  /** The time of day, milliseconds since 1970. */
  timeOfDay(): number;
  randomId(): string;
  /**
   * `keep`: a handler that asks stays where it stands. `replay`: it is always run again, as on
   * another process; for tests.
   */
  readonly resumption: 'keep' | 'replay';
  resolveRoots(exchange: Exchange): RootsResolver | undefined;
  /** A run that was suspended has settled. */
  onSettled(): void;
}

/** Shorter requests do not count towards what is retained: the number of those that wait is bounded. */
const countedLength = 4096;

/** How many ended runs are remembered for a retry that comes twice. */
const maxEnded = 64;

export class Rounds implements RunKeeper, CallRounds {
  readonly clock: Clock;
  readonly sealer: StateSealer;
  readonly #options: RoundsOptions;
  /** By id: those that were suspended once, or that go on from a state. */
  readonly #runs = new Map<string, Run>();
  readonly #waiting = new WaitingRuns();
  readonly #begun = new WeakMap<Run, Pick<RequestState, 'begunAt' | 'request'>>();
  /** What is kept of them, as it is counted. */
  readonly #retained = new WeakMap<Run, Retained>();
  /** Handlers of such runs that have not settled. */
  readonly #unsettled = new Set<Run>();
  /** Why no retry can come any more, once none can. */
  #closedBy: Error | undefined = undefined;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.sealer = options.sealer;
  }

  get patienceMs(): number {
    return this.#options.limits.suspendedCallTimeoutMs;
  }

  get maxQuestions(): number {
    return this.#options.limits.maxPending;
  }

  /** The calls that wait for a retry. */
  get waiting(): readonly (Run & SuspendedCall)[] {
    return [...this.#runs.values()].filter(isSuspended);
  }

  /** True if no handler of a call that was suspended still runs. */
  get isIdle(): boolean {
    return this.#unsettled.size === 0;
  }

  /** No retry can come any more. */
  close(reason: Error): void {
    this.#closedBy = reason;
    for (const run of this.waiting) {
      this.resumed(run);
      run.cancel(reason);
    }
    for (const run of this.#runs.values()) this.#retained.get(run)?.release();
  }

  /** Serves one request. */
  serve(handler: RequestHandler, exchange: Exchange): unknown {
    const retry = readRetry(exchange.params);
    return retry ? this.#retry(handler, exchange, retry) : new Run(this, exchange).start(handler);
  }

  async #retry(handler: RequestHandler, exchange: Exchange, retry: Retry): Promise<unknown> {
    const state = await this.#open(exchange, retry.requestState);
    return await this.#goOn(handler, exchange, state, retry.inputResponses);
  }

  async #goOn(
    handler: RequestHandler,
    exchange: Exchange,
    state: RequestState,
    answers: JsonObject,
  ): Promise<unknown> {
    if (this.#closedBy) throw fromWireError(shuttingDown);
    const { replay = true, singleUse = false } = handler.resumption?.(exchange.params) ?? {};
    const kept = this.#runs.get(state.run);
    const before = kept?.outcomeFrom(state.round);
    if (singleUse && (before || !kept)) throw this.#refusal('it is for one use');
    if (before) return await before;
    if (kept?.state === 'suspended' && kept.round === state.round) {
      const resumed = await kept.resume(exchange, answers);
      // While its answers were read it was evicted, or another retry was first.
      return resumed ?? (await this.#goOn(handler, exchange, state, answers));
    }
    const isVoid = kept?.state === 'void' && kept.round === state.round;
    if (kept && !isVoid && kept.round >= state.round) throw this.#refusal('its round is over');
    // Another process has gone on with the call meanwhile.
    if (kept && !isVoid) this.#forsake(kept, 'The call goes on elsewhere');
    if (!replay && !isVoid) {
      return exchange.peer.dialect.toolFailure({
        code: 'NOT_RESUMABLE',
        message:
          'This call waited for an answer too long, or in another process, and must not be run again. Call the tool anew, from the beginning.',
      });
    }
    return await this.#replay(handler, exchange, state, answers);
  }

  #replay(handler: RequestHandler, exchange: Exchange, state: RequestState, answers: JsonObject) {
    const questions = state.questions.map((question): StatedQuestion => {
      const { key } = question;
      // What is malformed is told to the client once the handler asks for it.
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
    const run = new Run(this, exchange, { ...state, questions });
    run.runId = state.run;
    this.#begun.set(run, state);
    this.#keep(run);
    return run.start(handler);
  }

  /** @throws {ProtocolError} -32602, the same for every state that is not accepted */
  async #open(exchange: Exchange, token: string): Promise<RequestState> {
    const { limits } = this.#options;
    if (token.length > limits.maxRequestStateBytes) throw this.#refusal('it is too long');
    const state = await this.sealer.open(token);
    if (!state) throw this.#refusal('it was not sealed by this server');
    if (state.expiresAt < this.#options.timeOfDay()) throw this.#refusal('it has expired');
    if (state.principal !== (exchange.origin?.principal?.id ?? null)) {
      throw this.#refusal('it belongs to another principal');
    }
    if (state.request !== (await this.#requestOf(exchange))) {
      throw this.#refusal('it belongs to another request');
    }
    // Nobody waits for it any more: cancelled while this was read, it runs no handler.
    if (exchange.hasEnded) throw refusedState();
    return state;
  }

  #refusal(why: string): Error {
    const message = `A request state was refused: ${why}`;
    this.#options.report({ level: 'warning', name: 'state.refused', message });
    return refusedState();
  }

  // What runs tell their keeper.

  resolveRoots(exchange: Exchange): RootsResolver | undefined {
    return this.#options.resolveRoots(exchange);
  }

  async endRound(run: Run, open: readonly Question[]): Promise<JsonObject> {
    const { limits, randomId, timeOfDay } = this.#options;
    if (run.round > limits.maxRounds) {
      const message = `A call may ask the client ${limits.maxRounds} times`;
      throw new RuntimeError('LIMIT_EXCEEDED', message);
    }
    const now = timeOfDay();
    const begun = this.#begun.get(run) ?? { begunAt: now, request: await this.#requestOf(run) };
    this.#begun.set(run, begun);
    if (run.runId === '') run.runId = randomId();
    const { checkpoint } = run;
    const requestState = await this.sealer.seal({
      version: 1,
      run: run.runId,
      round: run.round,
      begunAt: begun.begunAt,
      expiresAt: now + limits.suspendedCallTimeoutMs,
      principal: run.origin?.principal?.id ?? null,
      request: begun.request,
      questions: run.stated,
      kept: run.ledger.kept,
      ...(checkpoint === undefined ? {} : { checkpoint }),
    });
    if (requestState.length > limits.maxRequestStateBytes) {
      const message = `What the call has been told so far comes to ${requestState.length} bytes, and may come to ${limits.maxRequestStateBytes}`;
      throw new RuntimeError('LIMIT_EXCEEDED', message);
    }
    const requests = open.map(({ key, spec: { method, params } }) => ({ key, method, params }));
    return inputRequired(requests, requestState);
  }

  suspended(run: Run): void {
    const { limits, resumption, report } = this.#options;
    this.#keep(run);
    if (this.#closedBy) return run.cancel(this.#closedBy);
    if (resumption === 'replay') return this.#forsake(run, 'Calls are not kept here');
    const expire = () => {
      const message = `The client did not go on with ${run.method} within ${limits.suspendedCallTimeoutMs} ms`;
      report({ level: 'info', name: 'call.expired', message });
      this.#forsake(run, message);
    };
    this.#waiting.add(run, this.clock.setTimeout(expire, limits.suspendedCallTimeoutMs));
    const excess = this.#waiting.excess(run, limits.maxSuspendedCalls);
    if (excess) {
      const message = `More than ${limits.maxSuspendedCalls} calls wait for the client to go on`;
      report({ level: 'warning', name: 'call.expired', message });
      this.#forsake(excess, message);
    }
    if (this.#waiting.lengthOf(run) >= countedLength) this.#makeRoom(run);
  }

  /** Counts what is kept of a run that waits; others have to go for it, in the end itself. */
  #makeRoom(run: Run): void {
    const { limits, report } = this.#options;
    const { maxRetainedBytes: max } = limits;
    while (!this.#retain(run, run.size)) {
      const ended = this.#ended.find(({ origin }) => origin?.party === run.origin?.party);
      if (ended) {
        this.#forget(ended);
        continue;
      }
      const longest = this.#waiting.longest(run);
      const message = `What is kept for the client would come to more than ${max} bytes`;
      report({ level: 'warning', name: 'call.expired', message });
      this.#forsake(longest, message);
      if (longest === run) return;
    }
  }

  /** @returns false, and counts as before, if there is no room */
  #retain(run: Run, bytes: number): boolean {
    const { shares, limits } = this.#options;
    const known = this.#retained.get(run);
    if (known) return known.resize(bytes, limits.maxRetainedBytes);
    const retained = shares.retain(run.origin?.party, bytes, limits.maxRetainedBytes);
    if (retained) this.#retained.set(run, retained);
    return retained !== undefined;
  }

  resumed(run: Run): void {
    this.clock.clearTimeout(this.#waiting.delete(run));
  }

  voided(run: Run): void {
    this.#keep(run);
  }

  settled(run: Run): void {
    if (!this.#unsettled.delete(run)) return;
    for (const each of this.#ended.slice(0, -maxEnded)) this.#forget(each);
    void this.#remember(run);
    this.#options.onSettled();
  }

  /** Counts what it was answered with, for a retry that comes twice; what has no room is forgotten. */
  async #remember(run: Run): Promise<void> {
    let bytes = run.size;
    try {
      bytes += textLength(await run.outcomeFrom(run.round));
    } catch {
      // An error is short.
    }
    if (!this.#runs.has(run.runId) || !run.hasEnded) return;
    if (this.#closedBy || !this.#retain(run, bytes)) this.#forget(run);
  }

  /** Those that are remembered, the oldest first. */
  get #ended(): readonly Run[] {
    return [...this.#runs.values()].filter(({ hasEnded }) => hasEnded);
  }

  #forget(run: Run): void {
    this.#runs.delete(run.runId);
    this.#retained.get(run)?.release();
    this.#retained.delete(run);
  }

  #keep(run: Run): void {
    this.#runs.set(run.runId, run);
    this.#unsettled.add(run);
  }

  /** The digest of what all rounds of a call have in common. */
  #requestOf({ method, params }: Pick<Exchange, 'method' | 'params'>): Promise<string> {
    return this.sealer.digest([method, withoutRound(params)]);
  }

  /** Ends a suspended run as if it were cancelled. Its handler is run again if a retry comes. */
  #forsake(run: Run, reason: string): void {
    this.resumed(run);
    this.#forget(run);
    run.cancel(new RuntimeError('CANCELLED', reason));
  }
}

function isSuspended(run: Run): run is Run & SuspendedCall {
  return run.state === 'suspended';
}
