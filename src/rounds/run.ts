/**
 * One run of a handler that serves several requests, one after the other: a call of the stateless
 * era that asks its client. It stands between the handler and the request that is open at the time.
 * When the handler has asked, that request is answered with the questions, and the run is
 * suspended; the client's retry brings the answers, and the handler goes on where it stands.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import type { Clock } from '../actors/clock.ts';
import { isThenable, refused } from '../actors/exchange.ts';
import type { Exchange, RequestHandler, RequestSpec } from '../actors/exchange.ts';
import type { RootsReport, RootsResolver } from '../machines/roots-report.ts';
import { RuntimeError, invalidParams } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { askForRoots } from './ask-for-roots.ts';
import { OverRequests } from './over-requests.ts';
import { Ledger } from './ledger.ts';
import type { Earlier } from './ledger.ts';
import { Question } from './question.ts';
import { refusedState } from './request-state.ts';
import type { StateSealer, StatedQuestion } from './request-state.ts';
import { isDemand, questionsOf } from './url-demand.ts';
import type { Demand } from './url-demand.ts';

/** What a run needs of those who keep it. */
export interface RunKeeper {
  readonly clock: Clock;
  /** How long a run may be suspended, milliseconds. A question has no longer time than that. */
  readonly patienceMs: number;
  /** How many questions of a run may be open at once. */
  readonly maxQuestions: number;
  readonly sealer: StateSealer;
  /** What turns the client's roots into directories, if the server does. */
  resolveRoots(exchange: Exchange): RootsResolver | undefined;
  /**
   * Ends a round: gives the result that asks these questions.
   *
   * @throws {RuntimeError} LIMIT_EXCEEDED
   */
  endRound(run: Run, open: readonly Question[]): Promise<JsonObject>;
  /** The run waits for its retry. */
  suspended(run: Run): void;
  /** A retry goes on with it. */
  resumed(run: Run): void;
  /** The run is void. */
  voided(run: Run): void;
  /** The handler has settled, and nothing more comes of it. */
  settled(run: Run): void;
}

/** What one request of the run's is answered with. */
interface Round {
  /** What {@link Run.round} was when it began. */
  readonly from: number;
  readonly outcome: Promise<JsonObject>;
  readonly answer: (result: JsonObject) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * `serving`: a request is open. `gathering`: one is open, and the handler has asked; questions that
 * come until the round ends go along. `suspended`: no request is open. `demanding`: one is open, and
 * the handler has settled: it demands that URLs are opened. `ended`: the handler has settled, or was
 * cancelled. `void`: it has ended and has done nothing; for a retry it is run again.
 */
export type RunState = 'serving' | 'gathering' | 'suspended' | 'demanding' | 'ended' | 'void';

export class Run extends OverRequests implements Exchange {
  readonly keeper: RunKeeper;
  readonly #earlier: Earlier | undefined;
  #ledger: Ledger | undefined = undefined;
  /** Unguessable; set when the run is suspended for the first time. */
  runId = '';
  /** How many times the client has been asked. */
  round: number;
  context: object | undefined;
  /** See {@link Exchange.checkpoint}. What it was, if the handler is run again. */
  #checkpoint: unknown;
  readonly receivedAt: number;
  suspendedAt = 0;
  readonly rootsAwaited = 0;
  #state: RunState = 'serving';
  #round: Round | undefined = undefined;
  /** The round that is open, or was last: a retry that comes twice gets the same outcome. */
  #last: Round | undefined = undefined;
  /** What the handler came to while no request was open. */
  #late: (() => void) | undefined = undefined;
  /** What the handler waits for. */
  #open: Question[] = [];
  #roots: Promise<RootsReport> | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #cancelledBy: Error | undefined = undefined;
  #atEnd: (() => void)[] | undefined = undefined;

  constructor(keeper: RunKeeper, exchange: Exchange, earlier?: Earlier) {
    super(exchange);
    this.keeper = keeper;
    this.round = earlier?.round ?? 0;
    this.receivedAt = keeper.clock.now();
    this.#earlier = earlier;
    this.#checkpoint = earlier?.checkpoint;
  }

  /** Made when it is first needed: most handlers ask nothing. */
  get ledger(): Ledger {
    return (this.#ledger ??= new Ledger(this.#earlier));
  }

  get state(): RunState {
    return this.#state;
  }

  get checkpoint(): unknown {
    return this.#checkpoint;
  }

  set checkpoint(value: unknown) {
    this.#checkpoint = value;
    // It has in it what they have led to.
    this.ledger.dropAnswers();
  }

  get hasEnded(): boolean {
    return this.#state === 'ended' || this.#state === 'void';
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelledBy) this.#controller.abort(this.#cancelledBy);
    }
    return this.#controller.signal;
  }

  /** The questions that have no answer yet, for people. */
  get questions(): readonly string[] {
    return this.#open.map(({ label }) => label);
  }

  notify(method: string, params: JsonObject, rejected?: (error: unknown) => void): void {
    // What is said while no request is open belongs to none.
    if (this.#round) this.exchange.notify(method, params, rejected);
  }

  whenEnded(callback: () => void): void {
    (this.#atEnd ??= []).push(callback);
  }

  // Asking.

  ask(spec: RequestSpec): Promise<JsonObject> {
    if (this.hasEnded || this.#state === 'demanding') {
      const message = `${spec.method} was not asked: the call that it belongs to has ended`;
      return refused(new RuntimeError('CANCELLED', message));
    }
    if (spec.signal?.aborted) {
      const message = `${spec.method} was not asked: it was cancelled before`;
      return refused(new RuntimeError('CANCELLED', message));
    }
    const { maxQuestions } = this.keeper;
    if (this.#open.length >= maxQuestions) {
      const message = `${spec.method} was not asked: ${maxQuestions} questions of the call are open`;
      return refused(new RuntimeError('LIMIT_EXCEEDED', message));
    }
    const question = new Question(spec, this.keeper);
    this.#open.push(question);
    if (this.#state === 'serving') this.#beginGathering();
    return question.result;
  }

  roots(): Promise<RootsReport> {
    // A person may have to answer what is asked along with it, so it waits as long as the run.
    return (this.#roots ??= askForRoots(
      this,
      (question) => this.ask(question),
      this.keeper.resolveRoots(this.exchange),
    ));
  }

  once<T>(key: string, make: () => T | Promise<T>): Promise<T> {
    return this.ledger.once(key, make);
  }

  // Rounds.

  /** Runs the handler. What it gives is what the request is answered with. */
  start(handler: RequestHandler): unknown {
    const round = this.#beginRound(this.exchange);
    let given: unknown;
    try {
      given = handler(this.params, this);
    } catch (error) {
      this.#failed(error);
      return round.outcome;
    }
    if (!isThenable(given)) {
      this.#settle(() => this.#round?.answer(given as JsonObject));
      return given;
    }
    given.then(
      (result) => this.#settle(() => this.#round?.answer(result as JsonObject)),
      (error: unknown) => this.#failed(error),
    );
    return round.outcome;
  }

  /**
   * Goes on for a retry; undefined if the run is not suspended any more once the answers are read.
   *
   * @throws {ProtocolError} -32602 naming the answer that is malformed; the run stays suspended
   */
  async resume(exchange: Exchange, answers: JsonObject): Promise<JsonObject | undefined> {
    const from = this.round;
    const given = await this.#read(answers);
    if (exchange.hasEnded) throw refusedState();
    if (this.#state !== 'suspended' || this.round !== from) return undefined;
    this.keeper.resumed(this);
    const { outcome } = this.#beginRound(exchange);
    if (this.#late) this.#late();
    else {
      for (const [question, answer] of given) this.#settleQuestion(question, answer);
      this.#beginGathering();
    }
    return outcome;
  }

  /** What came of the retry that went on from this round; undefined if there was none. */
  outcomeFrom(round: number): Promise<JsonObject> | undefined {
    if (this.#cancelledBy || this.#last?.from !== round) return undefined;
    return this.#last.outcome;
  }

  /** Everything that was asked, for the state that travels. */
  get stated(): readonly StatedQuestion[] {
    return this.ledger.stated(this.#open);
  }

  /** Ends the run: its signal fires, what it waits for fails. */
  cancel(reason: Error): void {
    this.#end('ended', reason);
  }

  async #read(answers: JsonObject): Promise<readonly (readonly [Question, JsonObject])[]> {
    const given: (readonly [Question, JsonObject])[] = [];
    for (const question of this.#open) {
      const { key } = question;
      if (key === '' || !Object.hasOwn(answers, key)) continue;
      const fault = await question.faultOf(answers[key]);
      if (fault !== undefined) throw invalidParams(`"inputResponses.${key}" ${fault}`);
      given.push([question, answers[key] as JsonObject]);
    }
    return given;
  }

  #settleQuestion(question: Question, answer: JsonObject): void {
    this.#open = this.#open.filter((other) => other !== question);
    this.ledger.answered(question, answer);
    question.settle(answer);
  }

  #beginRound(exchange: Exchange): Round {
    exchange.machine = this.machine;
    this.exchange = exchange;
    this.#state = 'serving';
    let answer!: Round['answer'];
    let fail!: Round['fail'];
    const outcome = new Promise<JsonObject>((resolve, reject) => {
      answer = resolve;
      fail = reject;
    });
    const round = { from: this.round, outcome, answer, fail };
    this.#round = round;
    this.#last = round;
    // Ended while it is open: it was cancelled, or its connection is gone.
    exchange.whenEnded(() => {
      if (this.#round !== round || this.hasEnded) return;
      this.cancel(exchange.signal.reason as Error);
    });
    return round;
  }

  /** Until it ends, questions that come go along: they travel together. */
  #beginGathering(): void {
    this.#state = 'gathering';
    this.#gather().catch((error: unknown) => {
      if (this.#state !== 'gathering') return;
      this.#state = 'serving';
      // What stands in the way of asking is told to whoever asked.
      const failure =
        error instanceof RuntimeError
          ? error
          : new RuntimeError('REQUEST_FAILED', 'The client could not be asked', { cause: error });
      for (const question of this.#open.splice(0)) question.fail(failure);
    });
  }

  async #gather(): Promise<void> {
    do {
      const fresh = this.#open.filter(({ print }) => print === '');
      // This takes a turn of the event loop even if there are none: what an answer sets off comes first.
      await Promise.all(fresh.map((question) => question.takePrint(this.keeper.sealer)));
      if (fresh.length === 0) await this.keeper.sealer.turn();
      this.#open = this.#open.filter(({ state }) => state === 'open');
      if (this.#state !== 'gathering') return;
      await this.#claimAnswers();
    } while (this.#open.some(({ print }) => print === ''));
    if (this.#state !== 'gathering') return;
    if (this.#open.length === 0) {
      this.#state = 'serving';
      return;
    }
    await this.#suspend();
  }

  /** Answers at once what an earlier run was given an answer to. */
  async #claimAnswers(): Promise<void> {
    for (const question of this.#open.filter(({ key, print }) => key === '' && print !== '')) {
      const answer = this.ledger.claim(question);
      if (!answer) continue;
      const fault = await question.faultOf(answer);
      if (fault !== undefined) {
        const error = invalidParams(`"inputResponses.${question.key}" ${fault}`);
        this.#round?.fail(error);
        return this.#end('void', error);
      }
      this.#settleQuestion(question, answer);
      // What the answer sets off may ask more.
      await this.keeper.sealer.turn();
    }
  }

  async #suspend(): Promise<void> {
    this.ledger.refuseDivergence(this.method, this.#open);
    this.round++;
    const result = await this.keeper.endRound(this, [...this.#open]);
    const round = this.#round;
    if (this.#state !== 'gathering' || !round) return;
    this.#round = undefined;
    this.#state = 'suspended';
    this.suspendedAt = this.keeper.clock.now();
    round.answer(result);
    this.keeper.suspended(this);
  }

  /**
   * The handler refuses to go on before a person has opened some URLs. The client is asked to have
   * them opened, and the handler is run again after that: nothing of this run is needed any more.
   */
  #demand(demand: Demand): void {
    this.#state = 'demanding';
    this.#failOpen('The handler has ended');
    const demanding = async () => {
      this.#open = [...(await questionsOf(demand, this.keeper))];
      for (const question of this.#open) this.ledger.claim(question);
      this.round++;
      return await this.keeper.endRound(this, this.#open);
    };
    demanding().then(
      (result) => this.#settle(() => this.#round?.answer(result), 'void'),
      (error: unknown) => this.#settle(() => this.#round?.fail(error)),
    );
  }

  /** The handler has settled with an error. */
  #failed(error: unknown): void {
    if (!isDemand(error) || this.hasEnded) return this.#settle(() => this.#round?.fail(error));
    if (this.#state !== 'suspended') return this.#demand(error);
    // The retry is asked.
    this.#late = () => this.#demand(error);
    this.keeper.settled(this);
  }

  /** Nothing more comes of the handler. */
  #settle(tell: () => void, end: 'ended' | 'void' = 'ended'): void {
    if (this.#state === 'suspended') {
      // The retry gets it.
      this.#late = () => this.#settle(tell, end);
    } else {
      tell();
      this.#end(end);
    }
    this.keeper.settled(this);
  }

  #end(as: 'ended' | 'void', reason?: Error): void {
    if (this.hasEnded) return;
    this.#state = as;
    this.#cancelledBy = reason;
    if (as === 'void') this.keeper.voided(this);
    for (const callback of this.#atEnd?.splice(0) ?? []) callback();
    this.#failOpen(reason?.message ?? 'The call has ended');
    if (reason) this.#controller?.abort(reason);
  }

  /** Nobody waits for answers any more. */
  #failOpen(why: string): void {
    if (this.#open.length === 0) return;
    for (const each of this.#open.splice(0)) each.fail(new RuntimeError('CANCELLED', why));
  }
}
