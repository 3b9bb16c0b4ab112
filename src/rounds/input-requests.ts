/**
 * The input requests of a suspendable call: one request from sending to answer, and all requests of
 * a call with the answers so far.
 */
import { ignoreUnhandled, runOnce } from '../actors/request-context.ts';
import type { RequestContext, OnceFn, OutboundRequest } from '../actors/request-context.ts';
import type { Clock } from '../actors/clock.ts';
import type { CorrelationLimits, RoundLimits } from '../actors/limits.ts';
import type { RootsReport, RootsResolver } from '../protocol/roots.ts';
import { undeclaredRoots } from '../machines/roots.machine.ts';
import { inspectValue } from '../protocol/classify.ts';
import { RuntimeError, invalidParams } from '../protocol/errors.ts';
import type { ProtocolError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { validateAnswer } from '../protocol/input-required.ts';
import { Method } from '../protocol/methods.ts';
import { declaresRoots, readRootsResult } from '../protocol/roots.ts';
import type { RequestState, StateSealer, RecordedInputRequest } from './request-state.ts';

export class InputRequest {
  readonly spec: OutboundRequest;
  /** Description for people. */
  readonly label: string;
  /** Rejects with a {@link RuntimeError}. */
  readonly result: Promise<JsonObject>;
  /** Key in `inputRequests`; empty until assigned. */
  key = '';
  /** Digest of method and params; empty until computed. */
  digest = '';
  state: 'open' | 'answered' | 'failed' = 'open';
  readonly #clock: Clock;
  readonly #timer: unknown;
  #resolve!: (result: JsonObject) => void;
  #reject!: (error: RuntimeError) => void;

  /** @param callTimeoutMs time until the call ends, milliseconds */
  constructor(spec: OutboundRequest, clock: Clock, callTimeoutMs: number) {
    this.spec = spec;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#clock = clock;
    const { method, params, timeoutMs } = spec;
    const message = params?.['message'];
    this.label = typeof message === 'string' ? `${method} ${inspectValue(message)}` : method;
    this.#timer = timeoutMs < callTimeoutMs && clock.setTimeout(() => this.#expire(), timeoutMs);
    spec.signal?.addEventListener('abort', this);
  }

  /** Validates an answer. Returns the problem, or undefined if valid. */
  async validate(answer: unknown): Promise<string | undefined> {
    const fault = validateAnswer(this.spec.method, answer);
    return fault ?? (await this.spec.accepts?.(answer as JsonObject));
  }

  settle(answer: JsonObject): void {
    if (this.state !== 'open') return;
    this.#end('answered');
    this.#resolve(answer);
  }

  fail(error: RuntimeError): void {
    if (this.state !== 'open') return;
    this.#end('failed');
    void ignoreUnhandled(this.result);
    this.#reject(error);
  }

  /** Handles the signal's `abort` event. */
  handleEvent(): void {
    this.fail(new RuntimeError('CANCELLED', `${this.spec.method} was cancelled by its handler`));
  }

  #expire(): void {
    const { method, timeoutMs } = this.spec;
    const message = `The client did not answer ${method} within ${timeoutMs} ms`;
    this.fail(new RuntimeError('REQUEST_TIMEOUT', message));
  }

  #end(state: 'answered' | 'failed'): void {
    this.state = state;
    if (this.#timer !== false) this.#clock.clearTimeout(this.#timer);
    this.spec.signal?.removeEventListener('abort', this);
  }
}

/** Assigns unique keys to the input requests of a call. */
export class InputRequestKeys {
  readonly #taken: Set<string>;
  #given: number;

  /** @param taken keys of an earlier run */
  constructor(taken: readonly string[] = []) {
    this.#taken = new Set(taken);
    this.#given = taken.length;
  }

  /** @param wanted preferred key */
  take(wanted?: string): string {
    const prefix = wanted === undefined ? 'q' : `${wanted}-`;
    let key: string;
    do {
      this.#given++;
      key = wanted !== undefined && !this.#taken.has(wanted) ? wanted : `${prefix}${this.#given}`;
    } while (this.#taken.has(key));
    this.#taken.add(key);
    return key;
  }
}

/** Limits for the input requests of a call. */
interface QuestionBounds {
  readonly clock: Clock;
  readonly limits: Pick<RoundLimits, 'suspendedCallTimeoutMs'> &
    Pick<CorrelationLimits, 'maxPending'>;
}

/** State that an earlier run leaves for the next. */
type EarlierRun = Pick<RequestState, 'questions' | 'kept'>;

/** An input request and the client's answer. */
type GivenAnswer = readonly [question: InputRequest, answer: JsonObject];

/** Outcome of gathering the handler's input requests. */
export type Gathered =
  /** Input requests to send to the client. */
  | { readonly open: readonly InputRequest[] }
  /** An answer from an earlier run is malformed. */
  | { readonly refused: ProtocolError };

/**
 * The input requests of one call, the answers so far, and the values of `once`. A handler that runs
 * again starts with the answers of the earlier run.
 */
export class InputRequests {
  readonly #sealer: Pick<StateSealer, 'digest' | 'turn'>;
  /** Unanswered requests that the handler awaits. */
  #open: InputRequest[] = [];
  /** Answered requests, and all of an earlier run. */
  #stated: RecordedInputRequest[];
  /** Requests of an earlier run that this run has not repeated yet. */
  readonly #unclaimed: RecordedInputRequest[];
  readonly #keys: InputRequestKeys;
  readonly #once = new Map<string, Promise<unknown>>();
  readonly #values = new Map<string, unknown>();

  constructor(sealer: Pick<StateSealer, 'digest' | 'turn'>, earlier: EarlierRun | undefined) {
    const { questions, kept } = earlier ?? { questions: [], kept: [] };
    this.#sealer = sealer;
    this.#stated = [...questions];
    this.#unclaimed = questions.filter(({ isDemand }) => !isDemand);
    this.#keys = new InputRequestKeys(questions.map(({ key }) => key));
    for (const [key, value] of kept) {
      this.#once.set(key, Promise.resolve(value));
      this.#values.set(key, value);
    }
  }

  /** Descriptions of the unanswered requests, for people. */
  get labels(): readonly string[] {
    return this.#open.map(({ label }) => label);
  }

  /** An answered request of an earlier run that this run has not repeated. */
  get missed(): RecordedInputRequest | undefined {
    return this.#unclaimed.find(({ answer }) => answer);
  }

  /** Adds a request. @returns a promise of the answer; undefined if too many are unanswered */
  add(spec: OutboundRequest, { clock, limits }: QuestionBounds): Promise<JsonObject> | undefined {
    if (this.#open.length >= limits.maxPending) return undefined;
    const question = new InputRequest(spec, clock, limits.suspendedCallTimeoutMs);
    this.#open.push(question);
    return question.result;
  }

  /**
   * Waits until the handler sends no further requests for now. Requests answered in an earlier run
   * get that answer immediately.
   */
  async gather(): Promise<Gathered> {
    do {
      const fresh = this.#open.filter(({ digest }) => digest === '');
      // Computing a digest takes a turn of the event loop, so reactions to an answer run first.
      await Promise.all(fresh.map((question) => this.#computeDigest(question)));
      if (fresh.length === 0) await this.#sealer.turn();
      this.#open = this.#open.filter(({ state }) => state === 'open');
      const refused = await this.#answerKnown();
      if (refused) return { refused };
    } while (this.#open.some(({ digest }) => digest === ''));
    return { open: [...this.#open] };
  }

  async #computeDigest(question: InputRequest): Promise<void> {
    const { method, params } = question.spec;
    question.digest = await this.#sealer.digest([method, params]);
  }

  /**
   * Settles requests that an earlier run has answered. @returns the error if an answer is malformed
   */
  async #answerKnown(): Promise<ProtocolError | undefined> {
    for (const question of this.#open.filter(({ key, digest }) => key === '' && digest !== '')) {
      const answer = this.#claim(question);
      if (!answer) continue;
      const fault = await question.validate(answer);
      if (fault !== undefined) return malformed(question, fault);
      this.settle([[question, answer]]);
      // The code awaiting the answer may send further requests.
      await this.#sealer.turn();
    }
    return undefined;
  }

  /** Assigns the key of a request. @returns its answer from an earlier run */
  #claim(question: InputRequest): JsonObject | undefined {
    const at = this.#unclaimed.findIndex(({ print }) => print === question.digest);
    const [known] = at < 0 ? [] : this.#unclaimed.splice(at, 1);
    question.key = known?.key ?? this.#keys.take(question.spec.key);
    return known?.answer;
  }

  /**
   * Reads a retry's answers to the unanswered requests.
   *
   * @throws {ProtocolError} -32602 naming the answer that is malformed
   */
  async read(answers: JsonObject): Promise<readonly GivenAnswer[]> {
    const given: GivenAnswer[] = [];
    for (const question of this.#open) {
      const { key } = question;
      if (key === '' || !Object.hasOwn(answers, key)) continue;
      const fault = await question.validate(answers[key]);
      if (fault !== undefined) throw malformed(question, fault);
      given.push([question, answers[key] as JsonObject]);
    }
    return given;
  }

  settle(given: readonly GivenAnswer[]): void {
    for (const [question, answer] of given) {
      const { key, digest: print, label } = question;
      this.#open = this.#open.filter((other) => other !== question);
      this.#stated = this.#stated.filter((other) => other.key !== key);
      this.#stated.push({ key, print, label, answer });
      question.settle(answer);
    }
  }

  /** Fails all unanswered requests. */
  fail(errorOf: () => RuntimeError): void {
    for (const question of this.#open.splice(0)) question.fail(errorOf());
  }

  /** Adds requests to open URLs, for a handler that has ended. Nothing awaits their answers. */
  async demand(specs: readonly OutboundRequest[], clock: Clock): Promise<readonly InputRequest[]> {
    const questions = specs.map((spec) => new InputRequest(spec, clock, Infinity));
    await Promise.all(questions.map((question) => this.#computeDigest(question)));
    for (const question of questions) this.#claim(question);
    return questions;
  }

  /** Withdraws unanswered requests of an earlier run that this run has not repeated. */
  withdraw(isOpen: (key: string) => boolean): readonly RecordedInputRequest[] {
    const withdrawn = this.#unclaimed.filter(({ key, answer }) => !answer && isOpen(key));
    const left = this.#unclaimed.filter((question) => !withdrawn.includes(question));
    this.#unclaimed.splice(0, Infinity, ...left);
    return withdrawn;
  }

  /** Drops the answers so far, because the handler has set a checkpoint. */
  dropAnswers(): void {
    const hasNone = ({ answer }: RecordedInputRequest) => !answer;
    this.#stated = this.#stated.filter(hasNone);
    this.#unclaimed.splice(0, Infinity, ...this.#unclaimed.filter(hasNone));
  }

  /**
   * Throws if a handler that runs again sends other requests than before.
   *
   * @param open requests to send now
   * @throws {RuntimeError} REPLAY_DIVERGED, naming both requests
   */
  refuseDivergence(method: string, open: readonly InputRequest[]): void {
    const { missed } = this;
    const other = open.find(({ key }) => !this.#stated.some((stated) => stated.key === key));
    if (!missed || !other) return;
    const message = `The handler of ${method} ran again and diverged: it previously requested ${missed.label} (${missed.key}), and now requests ${other.label}. A handler's requests may depend only on its arguments, on earlier answers and on values of context.once`;
    throw new RuntimeError('REPLAY_DIVERGED', message);
  }

  /**
   * Requests and values to store in the request state.
   * @param open requests to send now
   */
  stated(
    open: readonly InputRequest[],
    by: 'handler' | 'demand',
  ): Pick<RequestState, 'questions' | 'kept'> {
    const asked = open.map(({ key, digest: print, label }): RecordedInputRequest =>
      by === 'demand' ? { key, print, label, isDemand: true } : { key, print, label },
    );
    const questions = [...this.#stated.filter(({ answer }) => answer), ...asked];
    return { questions, kept: [...this.#values] };
  }

  /** See {@link RequestContext.once}. */
  once<T>(key: string, make: OnceFn<T>): Promise<T> {
    const known = this.#once.get(key);
    if (known) return known as Promise<T>;
    const making = this.#make(key, make);
    this.#once.set(key, making);
    // A failed computation is retried by the next call.
    making.catch(() => this.#once.delete(key));
    return making;
  }

  async #make<T>(key: string, make: OnceFn<T>): Promise<T> {
    const value = await runOnce(key, make);
    this.#values.set(key, value);
    return value;
  }
}

function malformed({ key }: InputRequest, fault: string): ProtocolError {
  return invalidParams(`"inputResponses.${key}" ${fault}`);
}

/**
 * Requests a client's roots as an input request, for clients without a roots machine.
 *
 * @param ask sends the request; it waits as long as its call
 */
export async function requestRoots(
  { request: { peer }, signal }: RequestContext,
  ask: (question: OutboundRequest) => Promise<JsonObject>,
  resolve: RootsResolver | undefined,
): Promise<RootsReport> {
  if (!declaresRoots(peer.capabilities)) return undeclaredRoots;
  const result = await ask({
    method: Method.rootsList,
    timeoutMs: Infinity,
    maxTotalMs: Infinity,
  });
  const reading = readRootsResult(result);
  const listed = reading.ok ? reading.roots : [];
  const roots = resolve ? await resolve(listed, signal) : listed;
  return { status: 'known', generation: 1, settled: true, roots };
}
