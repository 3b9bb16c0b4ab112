/**
 * A suspendable call: one run of a handler that serves several requests, one after the other. When
 * the handler requests input, the open request is answered with `input_required` and the call is
 * suspended; the client's retry brings the answers, and the handler continues.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { isThenable, rejected } from '../actors/request-context.ts';
import type {
  CalledRequest,
  BackgroundRun,
  CancelRun,
  RequestContext,
  OnceFn,
  RequestHandler,
  OutboundRequest,
  TaskHandle,
} from '../actors/request-context.ts';
import type { Clock } from '../actors/clock.ts';
import type { CorrelationLimits, RoundLimits } from '../actors/limits.ts';
import type { RootsReport, RootsResolver } from '../protocol/roots.ts';
import { suspendableCallChart } from '../machines/suspendable-call.machine.ts';
import type {
  SuspendableCallEvent,
  SuspendableCallTag,
} from '../machines/suspendable-call.machine.ts';
import { isJsonObject } from '../protocol/classify.ts';
import { ErrorCode, ProtocolError, RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { roundParams, inputRequired } from '../protocol/input-required.ts';
import { Method } from '../protocol/methods.ts';
import { InputRequests, requestRoots } from './input-requests.ts';
import type { InputRequest } from './input-requests.ts';
import { invalidStateError } from './request-state.ts';
import type { RequestState, StateSealer } from './request-state.ts';
import type { DeliveryEvent } from '../machines/peer-ports.ts';
import type { Recipient } from '../machines/port.ts';

/** State shared by all suspendable calls of a server or session. */
export interface SuspendableCallScope {
  readonly limits: RoundLimits & Pick<CorrelationLimits, 'maxPending'>;
  readonly clock: Clock;
  readonly sealer: StateSealer;
  /** Current time, milliseconds since 1970. */
  timeOfDay(): number;
  randomId(): string;
  /** Returns the function that resolves roots to directories, if the server has one. */
  resolveRoots(exchange: RequestContext): RootsResolver | undefined;
}

/** Owner of the suspended calls. */
export interface SuspendableCallOwner {
  readonly scope: SuspendableCallScope;
  /** Called when a call awaits its retry. */
  onSuspended(call: SuspendableCall): void;
  /** Called when a call's retry has arrived. */
  onResumed(call: SuspendableCall): void;
  /** Called when a call has ended so that a retry runs its handler from the start. */
  onVoided(call: SuspendableCall): void;
  /** Called when a call's handler has settled. */
  onSettled(call: SuspendableCall): void;
}

/** One of the call's requests and its outcome. */
interface OpenRound {
  /** The value of {@link SuspendableCall.round} at the start. */
  readonly from: number;
  readonly outcome: Promise<JsonObject>;
  readonly answer: (result: JsonObject) => void;
  readonly fail: (error: unknown) => void;
}

export class SuspendableCall implements RequestContext {
  // The open request, or the last one, since the handler may outlive it.
  request: CalledRequest;
  task: TaskHandle | undefined;
  #open: RequestContext;
  #round: OpenRound;
  context: object | undefined = undefined;
  /** Unguessable id, assigned in the first round. */
  callId: string;
  /** Number of rounds so far. */
  round: number;
  readonly receivedAt: number;
  /** Start of the wait, clock ms. Set by the owner. */
  suspendedAt = 0;
  readonly rootsAwaited = 0;
  readonly #owner: SuspendableCallOwner;
  readonly #earlier: RequestState | undefined;
  #state = suspendableCallChart.initial;
  /** State common to all rounds; created for the first. */
  #begun: Pick<RequestState, 'begunAt' | 'request'> | undefined;
  #questions: InputRequests | undefined = undefined;
  #checkpoint: unknown;
  #handler: RequestHandler | undefined = undefined;
  /** The handler's result, or a promise of it. */
  #given: unknown = undefined;
  #machine: RequestContext['machine'] = undefined;
  #roots: Promise<RootsReport> | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  /** Abort reason, if aborted. */
  #reason: Error | undefined = undefined;
  #atEnd: (() => void)[] | undefined = undefined;

  /** @param earlier the state for running the handler again */
  constructor(keeper: SuspendableCallOwner, exchange: RequestContext, earlier?: RequestState) {
    this.callId = earlier?.run ?? '';
    this.round = earlier?.round ?? 0;
    this.receivedAt = keeper.scope.clock.now();
    this.#owner = keeper;
    this.#earlier = earlier;
    this.#begun = earlier;
    this.#checkpoint = earlier?.checkpoint;
    this.request = exchange.request;
    this.task = exchange.task;
    this.#open = exchange;
    this.#round = this.#begin(exchange);
  }

  /** Current state of the chart. */
  get state(): string {
    const { value } = this.#state;
    return typeof value === 'string' ? value : 'suspended';
  }

  is(tag: SuspendableCallTag): boolean {
    return this.#state.hasTag(tag);
  }

  get hasEnded(): boolean {
    return this.#state.hasTag('over');
  }

  /** Descriptions of the unanswered input requests, for people. */
  get questions(): readonly string[] {
    return this.#questions?.labels ?? [];
  }

  get checkpoint(): unknown {
    return this.#checkpoint;
  }

  set checkpoint(value: unknown) {
    this.#checkpoint = value;
    // The checkpoint replaces the answers so far.
    this.#inputs.dropAnswers();
  }

  get machine(): RequestContext['machine'] {
    return this.#machine;
  }

  set machine(machine: RequestContext['machine']) {
    this.#machine = machine;
    this.#open.machine = machine;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.is('aborted')) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  notify(method: string, params: JsonObject, reportTo?: Recipient<DeliveryEvent>): void {
    // A suspended call has no open request to carry a notification.
    if (!this.is('suspended')) this.#open.notify(method, params, reportTo);
  }

  whenEnded(callback: () => void): void {
    (this.#atEnd ??= []).push(callback);
  }

  // Connection state comes from the open request.

  announce(method: string, params: JsonObject): void {
    this.#open.announce(method, params);
  }

  whenClosing(callback: () => void): void {
    this.#open.whenClosing(callback);
  }

  get isWritable(): boolean {
    return this.#open.isWritable;
  }

  whenWritable(callback: () => void): void {
    this.#open.whenWritable(callback);
  }

  park(): void {
    this.#open.park();
  }

  detach(handler: RequestHandler, work: BackgroundRun): CancelRun {
    return this.#open.detach(handler, work);
  }

  // Input requests.

  sendRequest(spec: OutboundRequest): Promise<JsonObject> {
    if (!this.is('asking')) {
      const message = `${spec.method} was not sent: its call has ended`;
      return rejected(new RuntimeError('CANCELLED', message));
    }
    if (spec.signal?.aborted) {
      const message = `${spec.method} was not sent: it was cancelled`;
      return rejected(new RuntimeError('CANCELLED', message));
    }
    const { scope } = this.#owner;
    const answer = this.#inputs.add(spec, scope);
    if (!answer) {
      const message = `${spec.method} was not sent: the call has ${scope.limits.maxPending} unanswered requests (maxPending)`;
      return rejected(new RuntimeError('LIMIT_EXCEEDED', message));
    }
    if (this.#move({ type: 'question.asked' })) this.#gather();
    return answer;
  }

  roots(): Promise<RootsReport> {
    // No time limit: a person may have to answer requests sent along with this one.
    return (this.#roots ??= requestRoots(
      this,
      (question) => this.sendRequest(question),
      this.#owner.scope.resolveRoots(this.#open),
    ));
  }

  once<T>(key: string, make: OnceFn<T>): Promise<T> {
    return this.#inputs.once(key, make);
  }

  /** Created on first use, since most handlers request no input. */
  get #inputs(): InputRequests {
    return (this.#questions ??= new InputRequests(this.#owner.scope.sealer, this.#earlier));
  }

  // Rounds.

  /** Runs the handler. @returns the result of the request, or a promise of it */
  start(handler: RequestHandler): unknown {
    const { outcome } = this.#round;
    this.#handler = handler;
    let given: unknown;
    try {
      given = handler(this.request.params, this);
    } catch (error) {
      this.#failed(error);
      return outcome;
    }
    this.#given = given;
    if (!isThenable(given)) {
      this.#succeeded(given);
      return given;
    }
    given.then(
      (result) => this.#succeeded(result),
      (error: unknown) => this.#failed(error),
    );
    return outcome;
  }

  /**
   * Continues with a retry; undefined if the call is no longer suspended once the answers are read.
   *
   * @throws {ProtocolError} -32602 naming the answer that is malformed; the call stays suspended
   */
  async resume(exchange: RequestContext, answers: JsonObject): Promise<JsonObject | undefined> {
    const from = this.round;
    const given = await this.#inputs.read(answers);
    if (exchange.hasEnded) throw invalidStateError();
    if (!this.#state.hasTag('suspended') || this.round !== from) return undefined;
    exchange.machine = this.#machine;
    this.request = exchange.request;
    this.task = exchange.task;
    this.#open = exchange;
    const round = this.#begin(exchange);
    this.#round = round;
    this.#owner.onResumed(this);
    this.#move({ type: 'retry.received' });
    if (this.is('asking')) {
      this.#inputs.settle(given);
      this.#gather();
    } else {
      // The handler settled while the call was suspended.
      Promise.resolve(this.#given).then(
        (result) => round.answer(result as JsonObject),
        (error: unknown) =>
          this.is('over') ? round.fail(error) : this.#requireUrls(error as UrlRequirement),
      );
    }
    return round.outcome;
  }

  /** The outcome of the retry that continued from this round; undefined if there was none. */
  outcomeFrom(round: number): Promise<JsonObject> | undefined {
    if (this.is('aborted') || this.#round.from !== round) return undefined;
    return this.#round.outcome;
  }

  /** Aborts the call: fires its signal and fails its input requests. */
  cancel(reason: Error): void {
    this.#move({ type: 'call.cancelled' }, reason);
  }

  #begin(exchange: RequestContext): OpenRound {
    let answer!: OpenRound['answer'];
    let fail!: OpenRound['fail'];
    const outcome = new Promise<JsonObject>((resolve, reject) => {
      answer = resolve;
      fail = reject;
    });
    const round = { from: this.round, outcome, answer, fail };
    // The open request was cancelled, or its connection was lost.
    exchange.whenEnded(() => {
      if (this.#round === round && this.is('open')) this.cancel(exchange.signal.reason as Error);
    });
    return round;
  }

  /** Collects the handler's input requests and sends them together. */
  #gather(): void {
    this.#askClient().catch((error: unknown) => {
      if (!this.#move({ type: 'questions.failed' })) return;
      const failure =
        error instanceof RuntimeError
          ? error
          : new RuntimeError('REQUEST_FAILED', 'The input requests could not be sent', {
              cause: error,
            });
      this.#inputs.fail(() => failure);
    });
  }

  async #askClient(): Promise<void> {
    const questions = this.#inputs;
    const gathered = await questions.gather();
    if (this.#state.value !== 'gathering') return;
    if ('refused' in gathered) {
      this.#round.fail(gathered.refused);
      this.#move({ type: 'answer.refused' }, gathered.refused);
      return;
    }
    const { open } = gathered;
    if (open.length === 0) {
      this.#move({ type: 'questions.answered' });
      return;
    }
    questions.refuseDivergence(this.request.method, open);
    const result = await this.#resultThatAsks(open, 'handler');
    if (!this.#move({ type: 'questions.sent' })) return;
    this.#round.answer(result);
    this.#owner.onSuspended(this);
  }

  /** @throws {RuntimeError} LIMIT_EXCEEDED */
  async #resultThatAsks(
    open: readonly InputRequest[],
    by: 'handler' | 'demand',
  ): Promise<JsonObject> {
    const { limits, sealer, timeOfDay, randomId } = this.#owner.scope;
    const questions = this.#inputs;
    const node = this.#onlyNode;
    const requests = open.map(({ key, spec: { method, params } }) => ({ key, method, params }));
    this.round++;
    if (this.round > limits.maxRounds) {
      const message = `A call may request input at most ${limits.maxRounds} times (maxRounds)`;
      throw new RuntimeError('LIMIT_EXCEEDED', message);
    }
    const now = timeOfDay();
    this.#begun ??= { begunAt: now, request: await sealer.digest(roundParams(this.request)) };
    if (this.callId === '') this.callId = randomId();
    const checkpoint = this.#checkpoint;
    const requestState = await sealer.seal({
      version: 1,
      run: this.callId,
      round: this.round,
      begunAt: this.#begun.begunAt,
      expiresAt: now + limits.suspendedCallTimeoutMs,
      principal: this.request.origin?.principal?.id ?? null,
      request: this.#begun.request,
      node,
      ...questions.stated(open, by),
      ...(checkpoint === undefined ? {} : { checkpoint }),
    });
    if (requestState.length > limits.maxRequestStateBytes) {
      const message = `The request state must be at most ${limits.maxRequestStateBytes} bytes (maxRequestStateBytes), got ${requestState.length}`;
      throw new RuntimeError('LIMIT_EXCEEDED', message);
    }
    return inputRequired(requests, requestState);
  }

  /** The node that must serve the retry, if the handler cannot run again. */
  get #onlyNode(): string | undefined {
    const { origin, params } = this.request;
    const node = origin?.node;
    if (node === undefined) return undefined;
    const { replay = true, singleUse = false } = this.#handler?.resumption?.(params) ?? {};
    return replay && !singleUse ? undefined : node;
  }

  /** Asks the client to have URLs opened; its retry then runs the handler again. */
  #requireUrls({ data: { elicitations } }: UrlRequirement): void {
    this.#inputs.fail(() => new RuntimeError('CANCELLED', 'The handler has ended'));
    const specs = elicitations.map(({ url, message }) => ({
      method: Method.elicit,
      params: { mode: 'url', message, url },
      timeoutMs: Infinity,
      maxTotalMs: Infinity,
    }));
    const asking = async () =>
      this.#resultThatAsks(await this.#inputs.demand(specs, this.#owner.scope.clock), 'demand');
    const round = this.#round;
    asking().then(
      (result) => this.#settled(() => round.answer(result), 'urls.sent'),
      (error: unknown) => this.#settled(() => round.fail(error), 'urls.failed'),
    );
  }

  #succeeded(result: unknown): void {
    this.#settled(() => this.#round.answer(result as JsonObject), 'handler.settled');
  }

  #failed(error: unknown): void {
    if (!isUrlRequirement(error) || this.hasEnded) {
      return this.#settled(() => this.#round.fail(error), 'handler.settled');
    }
    this.#move({ type: 'urls.demanded' });
    if (this.is('suspended')) this.#owner.onSettled(this);
    else this.#requireUrls(error);
  }

  /** Handles a settled handler. If no request is open, the retry gets the outcome. */
  #settled(tell: () => void, type: SuspendableCallEvent['type']): void {
    if (!this.is('suspended')) tell();
    this.#move({ type });
    this.#owner.onSettled(this);
  }

  /**
   * @param reason abort reason, if the call is aborted
   * @returns false if the current state ignores the event
   */
  #move(event: SuspendableCallEvent, reason?: Error): boolean {
    const next = suspendableCallChart.next(this.#state, event);
    if (next === this.#state) return false;
    this.#state = next;
    if (next.hasTag('over')) this.#end(reason);
    return true;
  }

  #end(reason: Error | undefined): void {
    this.#reason = reason;
    if (this.is('void')) this.#owner.onVoided(this);
    // Before the callbacks, which read the reason from the signal.
    if (reason) this.#controller?.abort(reason);
    for (const callback of this.#atEnd?.splice(0) ?? []) callback();
    const why = reason?.message ?? 'The call has ended';
    this.#questions?.fail(() => new RuntimeError('CANCELLED', why));
  }
}

/**
 * Relevant part of the error `-32042` of 2025-11-25: the handler requires a person to open URLs
 * first. 2026-07-28 has no such error, so the client is asked to have them opened.
 *
 * @see MCP 2026-07-28, basic, "Error Codes"
 */
interface UrlRequirement {
  readonly data: {
    readonly elicitations: readonly { readonly url: string; readonly message: string }[];
  };
}

function isUrlRequirement(error: unknown): error is ProtocolError & UrlRequirement {
  return (
    error instanceof ProtocolError &&
    error.code === ErrorCode.urlElicitationRequired &&
    isJsonObject(error.data) &&
    Array.isArray(error.data['elicitations'])
  );
}
