/** A question of a call that goes on in rounds, from its asking to its answer. */
import { forgettable } from '../actors/exchange.ts';
import type { RequestSpec } from '../actors/exchange.ts';
import type { Clock } from '../actors/clock.ts';
import { describe } from '../protocol/classify.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { faultOfAnswer } from '../protocol/input-required.ts';
import type { StateSealer } from './request-state.ts';

export class Question {
  readonly spec: RequestSpec;
  /** Rejects with a `RuntimeError`. */
  readonly result: Promise<JsonObject>;
  /** Its key among the input requests, once it is told from the others. */
  key = '';
  /** The digest of what it asks, once it is made. */
  print = '';
  /** See {@link StatedQuestion.isDemand}. */
  isDemand = false;
  state: 'open' | 'answered' | 'failed' = 'open';
  answer: JsonObject | undefined = undefined;
  readonly #clock: Clock;
  readonly #timer: unknown;
  #resolve!: (result: JsonObject) => void;
  #reject!: (error: RuntimeError) => void;

  /** @param patienceMs when its run ends anyhow, milliseconds */
  constructor(
    spec: RequestSpec,
    { clock, patienceMs }: { readonly clock: Clock; readonly patienceMs: number },
  ) {
    this.spec = spec;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#clock = clock;
    const { timeoutMs } = spec;
    this.#timer = timeoutMs < patienceMs && clock.setTimeout(() => this.#expire(), timeoutMs);
    spec.signal?.addEventListener('abort', this);
  }

  /** For people: which question this is. */
  get label(): string {
    const { method, params } = this.spec;
    const message = params?.['message'];
    return typeof message === 'string' ? `${method} ${describe(message)}` : method;
  }

  async takePrint({ digest }: Pick<StateSealer, 'digest'>): Promise<void> {
    const { method, params } = this.spec;
    this.print = await digest([method, params]);
  }

  /** What is wrong with this answer; undefined if nothing is. */
  async faultOf(answer: unknown): Promise<string | undefined> {
    const fault = faultOfAnswer(this.spec.method, answer);
    return fault ?? (await this.spec.accepts?.(answer as JsonObject));
  }

  settle(answer: JsonObject): void {
    if (this.state !== 'open') return;
    this.answer = answer;
    this.#end('answered');
    this.#resolve(answer);
  }

  fail(error: RuntimeError): void {
    if (this.state !== 'open') return;
    this.#end('failed');
    void forgettable(this.result);
    this.#reject(error);
  }

  /** Takes the event of its signal. */
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

/** The keys of a call's questions: each is given once. */
export class QuestionKeys {
  readonly #taken: Set<string>;
  #given: number;

  /** @param taken those of an earlier run */
  constructor(taken: readonly string[] = []) {
    this.#taken = new Set(taken);
    this.#given = taken.length;
  }

  /** @param wanted what the handler calls the question */
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
