/**
 * What has happened in the work of a task that can go on in another process, while it runs here: each step is
 * written down before the handler hears of it. And what it waits for: when it only waits, and for long, it is given
 * up, so a task at rest costs its process nothing.
 */
import { runOnce, rejected } from '../../../src/actors/request-context.ts';
import type {
  OnceFn,
  OutboundRequest,
  SqlConnection,
  StepJournal,
  IdleProbe,
  DurableRunStatus,
} from '../../../src/actors/request-context.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import { taskWorkChart } from './task-work.machine.ts';
import type { TaskWorkEvent } from './task-work.machine.ts';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { RuntimeErrorCode } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { withMeta } from '../../../src/protocol/meta.ts';
import { inputRequestsOf } from '../../../src/protocol/input-required.ts';
import { InputRequests } from '../../../src/rounds/input-requests.ts';
import type { InputRequest } from '../../../src/rounds/input-requests.ts';
import { digestOf } from '../../../src/rounds/request-state.ts';
import type { TaskProgress, TaskStep, TaskWritten } from './task-store.ts';
import { answerStep, answersTooLong, stepKeys, stepName } from './written-steps.ts';
import type {
  AnswerStep,
  AskedStep,
  CheckpointStep,
  StepLimits,
  StepSizes,
  WrittenSteps,
} from './written-steps.ts';

/** What the ledger of a task stands on. */
export interface LedgerPort {
  readonly clock: Clock;
  readonly limits: LedgerLimits;
  /** The time by which timers go, milliseconds since 1970. */
  now(): number;
  /** Writes progress down. While the store is away it waits. */
  append(progress: TaskProgress): Promise<TaskWritten>;
  /** The same for a step that is made in the transaction that writes it. Absent if the store has none. */
  readonly appendWith?: ((key: string, make: OnceFn<string>) => Promise<TaskWritten>) | undefined;
  /** The client is asked something by the task. */
  inputRequested(method: string, at: number): void;
  /** A question has an outcome. */
  inputReceived(at: number): void;
  /** The task is given up, and has no owner. */
  parked(): void;
  /** Somebody else has claimed or ended it. */
  overtaken(): void;
  /** A write failed that no handler waits for: the work repeats it after a restart. */
  unsaved(error: unknown): void;
  /** The work only waits now. */
  rested?(): void;
  /** The `_meta` that a question carries on the wire; undefined if it needs none. */
  metaOf?(key: string): JsonObject | undefined;
  /** Takes answers for a task that no longer runs here. */
  answerElsewhere(answers: JsonObject): Promise<void>;
}

/** Bounds of the work of one task. */
export interface LedgerLimits extends StepLimits {
  /** What may be pending at once. */
  readonly maxPending: number;
  /** How long a session is asked that the task was begun in, milliseconds; then the task waits on. */
  readonly humanTimeoutMs: number;
  /** How long it has to wait yet, at least, to be given up, milliseconds. */
  readonly taskParkMs: number;
}

/** Something that the work waits for. */
interface Wait {
  readonly dueAt: number;
  /** Before that it is not given up. */
  readonly restsAt: number;
  readonly fire: () => void;
}

type Send = (question: OutboundRequest) => Promise<JsonObject>;

/** Settles after all promise callbacks that are already due. */
const turn = async () => void (await digestOf(null));

export class TaskLedger implements StepJournal {
  readonly #port: LedgerPort;
  /** What was written when the work began here. */
  readonly #earlier: WrittenSteps;
  readonly #questions: InputRequests;
  readonly #made = new Map<string, Promise<unknown>>();
  #state = taskWorkChart.begun;
  #checkpoint: CheckpointStep | undefined;
  /** The text of a checkpoint that is not being written yet. */
  #unwrittenCheckpoint: CheckpointStep | undefined = undefined;
  #slept: number;
  readonly #sizes: StepSizes;
  /** Steps of an earlier run that this run has not come to. Empty once it makes one of its own. */
  readonly #unrepeated: Set<string>;
  /** True once an unsaved step is reported. */
  #isUnsaved = false;
  /** For people: the step that was written last. */
  #lastStep: string | undefined;
  /** How the questions of this run are sent, by what they ask. */
  readonly #sends = new Map<
    OutboundRequest,
    { readonly spec: OutboundRequest; readonly send?: Send }
  >();
  /** The questions that the client is asked, by their keys. */
  readonly #asked = new Map<string, InputRequest>();
  readonly #askedKeys: Set<string>;
  readonly #waits = new Set<Wait>();
  /** What it does beside waiting. */
  #busy = 0;
  #written: Promise<unknown> = Promise.resolve();
  #asking: Promise<unknown> = Promise.resolve();
  #looking: Promise<void> | undefined = undefined;
  #timer: unknown = undefined;
  #parkMs: number;
  probe: IdleProbe | undefined = undefined;

  constructor(steps: WrittenSteps, port: LedgerPort) {
    this.#port = port;
    this.#earlier = steps;
    this.#checkpoint = steps.checkpoint;
    this.#slept = steps.checkpoint?.slept ?? 0;
    this.#sizes = steps.sizes;
    this.#unrepeated = new Set(steps.checkpoint ? [] : steps.repeated);
    this.#lastStep = steps.last;
    this.#parkMs = port.limits.taskParkMs;
    const before = steps.checkpoint?.asked ?? 0;
    const questions = steps.asked.map(({ key, print, label }, at) => {
      // Their keys are taken; what they asked is over.
      if (at < before) return { key, print: '', label, isDemand: true } as const;
      const known = steps.answer(key);
      return known && 'answer' in known
        ? { key, print, label, answer: known.answer }
        : { key, print, label };
    });
    this.#askedKeys = new Set(questions.map(({ key }) => key));
    this.#questions = new InputRequests({ digest: digestOf, turn }, { questions, kept: [] });
  }

  /** True while the handler repeats what an earlier run has done. */
  get isRepeating(): boolean {
    return this.#unrepeated.size > 0;
  }

  /** What its client is asked. */
  get inputRequests(): JsonObject {
    const open = [...this.#asked.values()].filter(({ state }) => state === 'open');
    return inputRequestsOf(
      open.map(({ key, spec: { method, params } }) => ({ key, method, params })),
    );
  }

  get openQuestions(): number {
    return this.#asked.size;
  }

  /** True while the work waits for answers, and asks nothing more at present. */
  get awaitsClient(): boolean {
    return this.#busy === 0 && this.#asked.size > 0;
  }

  now(): number {
    return this.#port.now();
  }

  /** Where it stands, for people. */
  get standing(): DurableRunStatus {
    const asked = [...this.#asked.values()].filter(({ state }) => state === 'open');
    const dueAt = Math.min(...[...this.#waits].map((wait) => wait.dueAt));
    return {
      lastStep: this.#lastStep,
      questions: asked.map(({ label }) => label),
      ...(dueAt < Infinity ? { dueInMs: Math.max(0, dueAt - this.now()) } : {}),
    };
  }

  // What was made.

  get checkpoint(): unknown {
    return this.#checkpoint?.value;
  }

  set checkpoint(value: unknown) {
    this.#questions.dropAnswers();
    const checkpoint = { value, asked: this.#askedKeys.size, slept: this.#slept };
    this.#checkpoint = checkpoint;
    const isQueued = this.#unwrittenCheckpoint !== undefined;
    this.#unwrittenCheckpoint = checkpoint;
    // Of several that wait to be written, the last is enough.
    if (isQueued) return;
    const steps = () => {
      const text = JSON.stringify(this.#unwrittenCheckpoint);
      this.#unwrittenCheckpoint = undefined;
      return [{ key: stepKeys.checkpoint, text }];
    };
    this.#write(steps).catch((error: unknown) => this.#unsaved(error));
  }

  once<T>(key: string, make: OnceFn<T>): Promise<T> {
    const known = this.#made.get(key);
    if (known) return known as Promise<T>;
    const text = this.#earlier.made(key);
    this.#unrepeated.delete(stepKeys.once(key));
    const made = text === undefined ? this.#during(() => this.#make(key, make)) : readMade(text);
    this.#made.set(key, made);
    made.catch(() => this.#made.delete(key));
    return made as Promise<T>;
  }

  async #make<T>(key: string, make: OnceFn<T>): Promise<T> {
    const { appendWith } = this.#port;
    const step = stepKeys.once(key);
    if (!appendWith) {
      const value = await runOnce(key, make);
      await this.#write(() => [{ key: step, text: textOfMade(value) }]);
      return value;
    }
    let made: { readonly value: T; readonly text: string } | undefined;
    let hasQueried = false;
    let ordered: Promise<void> | undefined;
    /** Other writes of the task wait from here on until the step is written. */
    const takeTurn = () =>
      new Promise<void>((resolve, reject) => {
        ordered = this.#inOrder(async () => {
          resolve();
          try {
            return await writing;
          } catch (error) {
            if (hasQueried || !made) throw error;
            // Nothing was undone: it is a step like any other, and waits for the store.
            return await this.#port.append({ steps: [{ key: step, text: made.text }] });
          }
        });
        ordered.catch(reject);
      });
    let turn: Promise<void> | undefined;
    const writing = appendWith(step, async ({ sql }) => {
      const query = async (...asked: Parameters<SqlConnection['query']>) => {
        hasQueried = true;
        await (turn ??= takeTurn());
        return (sql as SqlConnection).query(...asked);
      };
      const value = await runOnce(key, make, sql ? { sql: { query } } : {});
      this.#unrepeated.clear();
      await (turn ??= takeTurn());
      const text = textOfMade(value);
      this.#count([{ key: step, text }]);
      made = { value, text };
      return text;
    });
    try {
      await writing;
    } catch (error) {
      if (!ordered) throw error;
    }
    await ordered;
    this.#lastStep = step;
    return (made as unknown as { readonly value: T }).value;
  }

  // What it waits for.

  async sleep(ms: number): Promise<void> {
    const nth = ++this.#slept;
    let dueAt = this.#earlier.wakesAt(nth);
    this.#unrepeated.delete(stepKeys.sleep(nth));
    if (dueAt === undefined) {
      dueAt = this.now() + ms;
      await this.#during(async () => {
        // What is asked in this turn claims its answer first.
        await turn();
        this.#refuseDivergence(`sleeps for ${ms} ms`);
        await this.#write(() => [{ key: stepKeys.sleep(nth), text: JSON.stringify(dueAt) }]);
      });
    }
    const until = dueAt;
    await new Promise<void>((resolve) => this.#wait({ dueAt: until, restsAt: 0, fire: resolve }));
  }

  setTimer(callback: () => void, dueAt: number): unknown {
    return this.#wait({ dueAt, restsAt: 0, fire: callback });
  }

  clearTimer(timer: unknown): void {
    this.#waits.delete(timer as Wait);
    this.suspendIfIdle();
  }

  #wait(wait: Wait): Wait {
    this.#waits.add(wait);
    this.suspendIfIdle();
    return wait;
  }

  /** Asks the client, unless the answer is known. See {@link DurableRun}. */
  ask(spec: OutboundRequest, send?: Send): Promise<JsonObject> {
    // Its deadline goes by the store's clock, and holds in the next process.
    const asked: OutboundRequest = { ...spec, timeoutMs: Infinity, maxTotalMs: Infinity };
    const { clock, limits } = this.#port;
    const bounds = { clock, limits: { ...limits, suspendedCallTimeoutMs: Infinity } };
    const answer = this.#questions.add(asked, bounds);
    if (!answer) {
      const message = `${spec.method} was not asked: ${limits.maxPending} questions of the task are open`;
      return rejected(new RuntimeError('LIMIT_EXCEEDED', message));
    }
    this.#sends.set(asked, send ? { spec, send } : { spec });
    const asking = this.#during(() => this.#asking.then(() => this.#askClient()));
    this.#asking = asking.catch((error: unknown) => {
      const failure = questionFailure(error);
      this.#questions.fail(() => failure);
    });
    return answer;
  }

  async #askClient(): Promise<void> {
    const gathered = await this.#questions.gather();
    if ('refused' in gathered) {
      throw new RuntimeError('INVALID_RESPONSE', gathered.refused.message);
    }
    const fresh = gathered.open.filter(({ key }) => !this.#asked.has(key));
    for (const question of fresh) {
      const { key, spec } = question;
      const known = this.#earlier.answer(key);
      if (known && 'error' in known) {
        question.fail(new RuntimeError(known.error.code as RuntimeErrorCode, known.error.message));
        continue;
      }
      const sent = this.#sends.get(spec) ?? { spec };
      const before = this.#earlier.asked.find((each) => each.key === key);
      const step = before ?? this.#askedStep(question, sent.spec);
      if (!before) {
        this.#refuseDivergence(`asks ${question.label}`);
        this.#askedKeys.add(key);
        const asked = { key: stepKeys.asked(key), text: JSON.stringify(step) };
        const withdrawn = this.#withdrawn();
        await this.#write(() => [...withdrawn, asked], { isTold: true });
      }
      if (question.state === 'open') this.#isAsked(question, step, sent);
    }
  }

  /** Ends what an earlier run asked, has no answer, and is not asked again: clients are no longer asked it. */
  #withdrawn(): readonly TaskStep[] {
    const isOpen = (key: string) => this.#earlier.answer(key) === undefined;
    const message = 'The handler was run again, and asks something else';
    return this.#questions
      .withdraw(isOpen)
      .map(({ key }) => this.#answerStep(key, { error: { code: 'CANCELLED', message } }));
  }

  #answerStep(key: string, answer: AnswerStep): TaskStep {
    return answerStep(key, { ...answer, at: this.now() });
  }

  #askedStep({ key, digest: print, label }: InputRequest, spec: OutboundRequest): AskedStep {
    const { method, params, timeoutMs } = spec;
    const askedAt = this.now();
    const until = Number.isFinite(timeoutMs) ? { until: askedAt + timeoutMs } : {};
    return { key, method, params, print, label, askedAt, ...until };
  }

  /** The client can answer from now on. */
  #isAsked(
    question: InputRequest,
    { key, method, askedAt, until = Infinity }: AskedStep,
    { spec, send }: { readonly spec: OutboundRequest; readonly send?: Send },
  ): void {
    this.#asked.set(key, question);
    const wait = this.#wait({
      dueAt: until,
      restsAt: askedAt + this.#parkMs,
      fire: () => {
        const message = `The client did not answer ${method} in time`;
        question.fail(new RuntimeError('REQUEST_TIMEOUT', message));
      },
    });
    const settled = () => {
      this.#asked.delete(key);
      this.clearTimer(wait);
      if (!send && this.#state.hasTag('here')) this.#port.inputReceived(this.now());
    };
    question.result.then(settled, (error: unknown) => {
      settled();
      if (!(error instanceof RuntimeError) || !this.#state.hasTag('here')) return;
      const { code, message } = error;
      const failed = this.#answerStep(key, { error: { code, message } });
      this.#write(() => [failed], { isTold: true }).catch((error: unknown) => this.#unsaved(error));
    });
    if (!send) return this.#port.inputRequested(method, askedAt);
    const isPatient = !Number.isFinite(spec.timeoutMs);
    const { humanTimeoutMs: ms } = this.#port.limits;
    const bounded = isPatient ? { ...spec, timeoutMs: ms, maxTotalMs: ms } : spec;
    const meta = this.#port.metaOf?.(key);
    const sent = meta ? { ...bounded, params: withMeta(spec.params ?? {}, meta) } : bounded;
    void this.#during(async () => {
      try {
        await this.#answered([[question, await send(sent)]]);
      } catch (error) {
        const failure = questionFailure(error);
        // The next request for the result is asked.
        if (failure.code === 'TRANSPORT_CLOSED') return;
        if (!isPatient || failure.code !== 'REQUEST_TIMEOUT') question.fail(failure);
      }
    });
  }

  /**
   * Takes answers; those to what is not open are ignored.
   * @throws {ProtocolError} -32602 naming the answer that is malformed, or the bound that they exceed; none is taken then
   */
  async answer(answers: JsonObject): Promise<void> {
    const given = await this.#questions.read(answers);
    if (this.#state.hasTag('here')) {
      try {
        return await this.#answered(given);
      } catch (error) {
        if (!(error instanceof RuntimeError)) throw error;
        if (error.code === 'LIMIT_EXCEEDED') throw answersTooLong(error.message);
        // The task has ended, or goes on elsewhere.
      }
    }
    await this.#written;
    await this.#port.answerElsewhere(answers);
  }

  /**
   * Writes answers and settles their questions in one turn of the writes, so that of two answers the one
   * that the handler gets is the one that stays written.
   * @throws {RuntimeError} LIMIT_EXCEEDED: they are too long; none is taken, and the questions stay open
   */
  async #answered(given: readonly (readonly [InputRequest, JsonObject])[]): Promise<void> {
    const open = () => given.filter(([{ state }]) => state === 'open');
    await this.#during(() =>
      this.#inOrder(async () => {
        const taken = open();
        if (taken.length === 0) return 'written';
        const steps = taken.map(([{ key }, answer]) => this.#answerStep(key, { answer }));
        const excess = this.#sizes.excessOfAnswers(steps, this.#port.limits);
        if (excess !== undefined) throw new RuntimeError('LIMIT_EXCEEDED', excess);
        this.#sizes.add(steps);
        const became = await this.#append(steps);
        if (became === 'written') this.#questions.settle(open());
        return became;
      }),
    );
  }

  /** Takes what others have written to the task: answers, in turn with those given here. */
  async heard(steps: WrittenSteps): Promise<void> {
    const hear = async (): Promise<TaskWritten> => {
      for (const [key, question] of this.#asked) {
        const known = steps.answer(key);
        if (!known || 'error' in known || question.state !== 'open') continue;
        this.#sizes.add([answerStep(key, known)]);
        const fault = await question.validate(known.answer);
        if (fault === undefined) this.#questions.settle([[question, known.answer]]);
        else question.fail(new RuntimeError('INVALID_RESPONSE', `The answer to ${key} ${fault}`));
      }
      return 'written';
    };
    try {
      await this.#inOrder(hear);
    } catch (error) {
      // The task has ended, or goes on elsewhere with these answers.
      if (!(error instanceof RuntimeError)) throw error;
    }
  }

  /** @throws {RuntimeError} REPLAY_DIVERGED, naming both */
  #refuseDivergence(does: string): void {
    const missed = this.#questions.missed;
    const sleeps = this.#earlier.wakesAt(this.#slept + 1) !== undefined && does.startsWith('asks');
    if (!missed && !sleeps) return;
    const did = missed ? `asked ${missed.label} (${missed.key})` : `slept (${this.#slept + 1})`;
    const message = `The handler was run again, and does otherwise than before: where it ${did}, it now ${does}. What a handler asks, and how often it sleeps, may depend only on its arguments, on the answers, and on what it keeps with context.once`;
    throw new RuntimeError('REPLAY_DIVERGED', message);
  }

  // Whether it goes on.

  /** Counts what the work does. */
  async #during<T>(act: () => Promise<T>): Promise<T> {
    this.#busy++;
    this.#move({ type: 'work.stirred' });
    try {
      return await act();
    } finally {
      this.#busy--;
      this.suspendIfIdle();
    }
  }

  /** The session begins to end: the work is given up as soon as it only waits. */
  closing(): void {
    this.#parkMs = 0;
    this.suspendIfIdle();
  }

  /** The session has ended. */
  left(): void {
    if (this.#move({ type: 'session.ended' })) void this.#park(0);
  }

  /** The work has ended. */
  end(): void {
    this.#move({ type: 'work.ended' });
    this.#stopTimer();
  }

  suspendIfIdle(): void {
    if (this.#looking || !this.#state.hasTag('here')) return;
    this.#looking = turn().then(() => {
      this.#looking = undefined;
      this.#look();
    });
  }

  #look(): void {
    this.#stopTimer();
    if (!this.#state.hasTag('here')) return;
    const now = this.now();
    const due = [...this.#waits].filter(({ dueAt }) => dueAt <= now);
    if (due.length > 0) this.#move({ type: 'work.stirred' });
    for (const wait of due) {
      this.#waits.delete(wait);
      wait.fire();
    }
    if (due.length > 0) return this.suspendIfIdle();
    let next = Math.min(...[...this.#waits].map(({ dueAt }) => dueAt));
    if (this.#waits.size > 0 && this.#busy === 0 && this.probe?.isIdle() !== false) {
      this.#move({ type: 'work.rested' });
      this.#port.rested?.();
      const isClosing = this.#parkMs === 0;
      const restsAt = Math.max(...[...this.#waits].map((wait) => wait.restsAt));
      const isLong = isClosing || next - now >= this.#parkMs;
      if (isLong && (isClosing || restsAt <= now)) {
        this.#move({ type: 'parking.begun' });
        return void this.#park(next - now);
      }
      if (isLong) next = restsAt;
    }
    if (next < Infinity) {
      const { clock } = this.#port;
      this.#timer = clock.setTimeout(() => this.#look(), Math.max(0, next - now));
    }
  }

  /** What it waits for at most, if only the client can go on with it. */
  async #park(waitMs: number): Promise<void> {
    const parkForMs = Math.min(waitMs, longestParkMs);
    try {
      await this.#inOrder(() => this.#port.append({ steps: [], parkForMs }));
    } catch (error) {
      return this.#unsaved(error);
    }
    if (this.#move({ type: 'parking.written' })) this.#port.parked();
  }

  #stopTimer(): void {
    this.#port.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  // What is written.

  #write(
    steps: () => readonly TaskStep[],
    more: Pick<TaskProgress, 'isTold'> = {},
  ): Promise<unknown> {
    return this.#inOrder(async () => {
      const written = steps();
      this.#unrepeated.clear();
      this.#count(written);
      return this.#append(written, more);
    });
  }

  /** Reports the first write that failed and that no handler waits for. */
  #unsaved(error: unknown): void {
    // A task that has ended or goes on elsewhere needs no write.
    if (this.#isUnsaved || (error instanceof RuntimeError && error.code === 'CANCELLED')) return;
    this.#isUnsaved = true;
    this.#port.unsaved(error);
  }

  async #append(
    steps: readonly TaskStep[],
    more: Pick<TaskProgress, 'isTold'> = {},
  ): Promise<TaskWritten> {
    const name = steps.map(({ key }) => stepName(key, this.#checkpoint)).at(-1);
    const became = await this.#port.append({ steps, ...more });
    this.#lastStep = name ?? this.#lastStep;
    return became;
  }

  /**
   * Counts steps towards the bounds, also what is refused: as long as it is not replaced, no later one is written.
   * @throws {RuntimeError} LIMIT_EXCEEDED
   */
  #count(steps: readonly TaskStep[]): void {
    this.#sizes.add(steps);
    const excess = this.#sizes.excess(this.#port.limits);
    if (excess !== undefined) throw new RuntimeError('LIMIT_EXCEEDED', excess);
  }

  /** Writes after everything that was to be written before. */
  #inOrder(write: () => Promise<TaskWritten>): Promise<void> {
    const writing = this.#written.then(async () => {
      if (this.#state.hasTag('over')) throw goesOnElsewhere();
      if ((await write()) === 'written') return;
      if (this.#move({ type: 'task.overtaken' })) this.#port.overtaken();
      throw goesOnElsewhere();
    });
    this.#written = writing.catch(() => {});
    return writing;
  }

  /** @returns false if the state does not take the event */
  #move(event: TaskWorkEvent): boolean {
    const before = this.#state;
    this.#state = taskWorkChart.next(before, event);
    return this.#state !== before;
  }
}

/** A task that waits for its client alone is looked at again after this time, milliseconds. */
const longestParkMs = 30 * 24 * 3600_000;

/** The handler's error for a question that did not reach its client. */
function questionFailure(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  return new RuntimeError('REQUEST_FAILED', 'The client could not be asked', { cause: error });
}

function goesOnElsewhere(): RuntimeError {
  return new RuntimeError('CANCELLED', 'The task has ended, or goes on in another process');
}

function textOfMade(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}

async function readMade(text: string): Promise<unknown> {
  return text === '' ? undefined : JSON.parse(text);
}
