/**
 * The journal of a resumable task while it runs in this process. Each step is stored before the handler continues.
 * The journal also knows the task's timers and open questions: a task that only waits, and for long, is parked, so an
 * idle task costs its process nothing.
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
import type { TaskProgress, TaskStep, WriteResult } from './task-store.ts';
import { answerStep, answersTooLong, stepKeys, stepName } from './step-history.ts';
import type {
  AnswerStep,
  AskedStep,
  CheckpointStep,
  StepLimits,
  StepSizes,
  StepHistory,
} from './step-history.ts';

/** The journal's access to the store and to the session. */
export interface JournalPort {
  readonly clock: Clock;
  readonly limits: JournalLimits;
  /** The store's clock, which durable timers use, milliseconds since 1970. */
  now(): number;
  /** Stores progress. Retries while the store is unavailable. */
  append(progress: TaskProgress): Promise<WriteResult>;
  /** Creates and stores a step in one transaction. Absent if the store has none. */
  readonly appendWith?: ((key: string, make: OnceFn<string>) => Promise<WriteResult>) | undefined;
  /** The task has asked its client a question. */
  inputRequested(method: string, at: number): void;
  /** A question was answered or has failed. */
  inputReceived(at: number): void;
  /** The task is parked: it has no owner. */
  onParked(): void;
  /** Another process has claimed or ended the task. */
  onOvertaken(): void;
  /** A write failed that no handler awaits. The step is repeated after a restart. */
  onUnsaved(error: unknown): void;
  /** The task only waits for timers and answers. */
  onIdle?(): void;
  /** The `_meta` of a question on the wire; undefined if it needs none. */
  metaOf?(key: string): JsonObject | undefined;
  /** Stores answers for a task that no longer runs here. */
  answerElsewhere(answers: JsonObject): Promise<void>;
}

/** Limits on one task. */
export interface JournalLimits extends StepLimits {
  /** Maximum number of open questions. */
  readonly maxPending: number;
  /** Timeout of a question sent to the task's session, milliseconds. The task keeps waiting after it. */
  readonly humanTimeoutMs: number;
  /** Minimum remaining wait for which a task is parked, milliseconds. */
  readonly taskParkMs: number;
}

/** A timer or question that the task waits for. Times by the store's clock. */
interface Wait {
  readonly dueAt: number;
  /** The task is not parked before this time. */
  readonly restsAt: number;
  readonly fire: () => void;
}

type Send = (question: OutboundRequest) => Promise<JsonObject>;

/** Settles after all promise callbacks that are already queued. */
const microtasksDone = async () => void (await digestOf(null));

export class TaskJournal implements StepJournal {
  readonly #port: JournalPort;
  /** Steps stored before the task began to run here. */
  readonly #earlier: StepHistory;
  readonly #questions: InputRequests;
  readonly #onceValues = new Map<string, Promise<unknown>>();
  #state = taskWorkChart.initial;
  #checkpoint: CheckpointStep | undefined;
  /** A checkpoint whose write has not begun. */
  #unwrittenCheckpoint: CheckpointStep | undefined = undefined;
  #slept: number;
  readonly #sizes: StepSizes;
  /** Steps of an earlier run that this run has not yet replayed. Cleared by the first new step. */
  readonly #unrepeated: Set<string>;
  /** True once an unsaved step was reported. */
  #isUnsaved = false;
  /** The step stored last, for people. */
  #lastStep: string | undefined;
  /** How each question of this run is sent. */
  readonly #sends = new Map<
    OutboundRequest,
    { readonly spec: OutboundRequest; readonly send?: Send }
  >();
  /** Open questions by key. */
  readonly #asked = new Map<string, InputRequest>();
  readonly #askedKeys: Set<string>;
  readonly #waits = new Set<Wait>();
  /** Number of operations in progress besides waiting. */
  #busy = 0;
  #writes: Promise<unknown> = Promise.resolve();
  #asking: Promise<unknown> = Promise.resolve();
  #checking: Promise<void> | undefined = undefined;
  #timer: unknown = undefined;
  #parkMs: number;
  probe: IdleProbe | undefined = undefined;

  constructor(steps: StepHistory, port: JournalPort) {
    this.#port = port;
    this.#earlier = steps;
    this.#checkpoint = steps.checkpoint;
    this.#slept = steps.checkpoint?.slept ?? 0;
    this.#sizes = steps.sizes;
    this.#unrepeated = new Set(steps.checkpoint ? [] : steps.replayedKeys);
    this.#lastStep = steps.lastStep;
    this.#parkMs = port.limits.taskParkMs;
    const before = steps.checkpoint?.asked ?? 0;
    const questions = steps.asked.map(({ key, print, label }, at) => {
      // Questions before the checkpoint are over, but their keys stay taken.
      if (at < before) return { key, print: '', label, isDemand: true } as const;
      const known = steps.answer(key);
      return known && 'answer' in known
        ? { key, print, label, answer: known.answer }
        : { key, print, label };
    });
    this.#askedKeys = new Set(questions.map(({ key }) => key));
    this.#questions = new InputRequests(
      { digest: digestOf, turn: microtasksDone },
      { questions, kept: [] },
    );
  }

  /** True while the handler replays steps of an earlier run. */
  get isRepeating(): boolean {
    return this.#unrepeated.size > 0;
  }

  /** Open questions, as `inputRequests`. */
  get inputRequests(): JsonObject {
    const open = [...this.#asked.values()].filter(({ state }) => state === 'open');
    return inputRequestsOf(
      open.map(({ key, spec: { method, params } }) => ({ key, method, params })),
    );
  }

  get openQuestions(): number {
    return this.#asked.size;
  }

  /** True while the task waits for answers and does nothing else. */
  get awaitsClient(): boolean {
    return this.#busy === 0 && this.#asked.size > 0;
  }

  now(): number {
    return this.#port.now();
  }

  /** The last step and the current waits, for people. */
  get status(): DurableRunStatus {
    const asked = [...this.#asked.values()].filter(({ state }) => state === 'open');
    const dueAt = Math.min(...[...this.#waits].map((wait) => wait.dueAt));
    return {
      lastStep: this.#lastStep,
      questions: asked.map(({ label }) => label),
      ...(dueAt < Infinity ? { dueInMs: Math.max(0, dueAt - this.now()) } : {}),
    };
  }

  // Checkpoints and values.

  get checkpoint(): unknown {
    return this.#checkpoint?.value;
  }

  set checkpoint(value: unknown) {
    this.#questions.dropAnswers();
    const checkpoint = { value, asked: this.#askedKeys.size, slept: this.#slept };
    this.#checkpoint = checkpoint;
    const isQueued = this.#unwrittenCheckpoint !== undefined;
    this.#unwrittenCheckpoint = checkpoint;
    // Queued checkpoints are coalesced to the last.
    if (isQueued) return;
    const steps = () => {
      const text = JSON.stringify(this.#unwrittenCheckpoint);
      this.#unwrittenCheckpoint = undefined;
      return [{ key: stepKeys.checkpoint, text }];
    };
    this.#write(steps).catch((error: unknown) => this.#reportUnsaved(error));
  }

  once<T>(key: string, make: OnceFn<T>): Promise<T> {
    const known = this.#onceValues.get(key);
    if (known) return known as Promise<T>;
    const text = this.#earlier.onceValue(key);
    this.#unrepeated.delete(stepKeys.once(key));
    const made = text === undefined ? this.#whileBusy(() => this.#make(key, make)) : fromText(text);
    this.#onceValues.set(key, made);
    made.catch(() => this.#onceValues.delete(key));
    return made as Promise<T>;
  }

  async #make<T>(key: string, make: OnceFn<T>): Promise<T> {
    const { appendWith } = this.#port;
    const step = stepKeys.once(key);
    if (!appendWith) {
      const value = await runOnce(key, make);
      await this.#write(() => [{ key: step, text: toText(value) }]);
      return value;
    }
    let made: { readonly value: T; readonly text: string } | undefined;
    let hasQueried = false;
    let ordered: Promise<void> | undefined;
    /** Blocks the task's other writes until this step is stored. */
    const takeTurn = () =>
      new Promise<void>((resolve, reject) => {
        ordered = this.#enqueue(async () => {
          resolve();
          try {
            return await writing;
          } catch (error) {
            if (hasQueried || !made) throw error;
            // Without a query there was no transaction to roll back: append the step as usual.
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
      const text = toText(value);
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

  // Timers and questions.

  async sleep(ms: number): Promise<void> {
    const nth = ++this.#slept;
    let dueAt = this.#earlier.sleepEnd(nth);
    this.#unrepeated.delete(stepKeys.sleep(nth));
    if (dueAt === undefined) {
      dueAt = this.now() + ms;
      await this.#whileBusy(async () => {
        // Questions asked in this turn claim their stored answers first.
        await microtasksDone();
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

  /** Asks the client, unless the answer is stored. See {@link DurableRun}. */
  ask(spec: OutboundRequest, send?: Send): Promise<JsonObject> {
    // The journal enforces the deadline by the store's clock, also in the next process.
    const asked: OutboundRequest = { ...spec, timeoutMs: Infinity, maxTotalMs: Infinity };
    const { clock, limits } = this.#port;
    const bounds = { clock, limits: { ...limits, suspendedCallTimeoutMs: Infinity } };
    const answer = this.#questions.add(asked, bounds);
    if (!answer) {
      const message = `${spec.method} was not sent: the task already has ${limits.maxPending} open questions`;
      return rejected(new RuntimeError('LIMIT_EXCEEDED', message));
    }
    this.#sends.set(asked, send ? { spec, send } : { spec });
    const asking = this.#whileBusy(() => this.#asking.then(() => this.#askClient()));
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
        await this.#write(() => [...withdrawn, asked], { isAnnounced: true });
      }
      if (question.state === 'open') this.#openQuestion(question, step, sent);
    }
  }

  /** Withdraws unanswered questions of an earlier run that this run does not repeat. */
  #withdrawn(): readonly TaskStep[] {
    const isOpen = (key: string) => this.#earlier.answer(key) === undefined;
    const message = 'The handler asked a different question when it was run again';
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

  /** Makes a question answerable, and sends it. */
  #openQuestion(
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
      this.#write(() => [failed], { isAnnounced: true }).catch((error: unknown) =>
        this.#reportUnsaved(error),
      );
    });
    if (!send) return this.#port.inputRequested(method, askedAt);
    const isPatient = !Number.isFinite(spec.timeoutMs);
    const { humanTimeoutMs: ms } = this.#port.limits;
    const bounded = isPatient ? { ...spec, timeoutMs: ms, maxTotalMs: ms } : spec;
    const meta = this.#port.metaOf?.(key);
    const sent = meta ? { ...bounded, params: withMeta(spec.params ?? {}, meta) } : bounded;
    void this.#whileBusy(async () => {
      try {
        await this.#takeAnswers([[question, await send(sent)]]);
      } catch (error) {
        const failure = questionFailure(error);
        // The question goes to the next request for the result.
        if (failure.code === 'TRANSPORT_CLOSED') return;
        if (!isPatient || failure.code !== 'REQUEST_TIMEOUT') question.fail(failure);
      }
    });
  }

  /**
   * Takes answers; ignores answers to questions that are not open.
   * @throws {ProtocolError} -32602 naming the malformed answer or the exceeded limit; no answer is taken then
   */
  async answer(answers: JsonObject): Promise<void> {
    const given = await this.#questions.read(answers);
    if (this.#state.hasTag('here')) {
      try {
        return await this.#takeAnswers(given);
      } catch (error) {
        if (!(error instanceof RuntimeError)) throw error;
        if (error.code === 'LIMIT_EXCEEDED') throw answersTooLong(error.message);
        // The task has ended, or runs in another process.
      }
    }
    await this.#writes;
    await this.#port.answerElsewhere(answers);
  }

  /**
   * Stores answers and settles their questions in one queued write, so that of two answers the handler gets the
   * stored one.
   * @throws {RuntimeError} LIMIT_EXCEEDED: the answers are too long; none is taken, and the questions stay open
   */
  async #takeAnswers(given: readonly (readonly [InputRequest, JsonObject])[]): Promise<void> {
    const open = () => given.filter(([{ state }]) => state === 'open');
    await this.#whileBusy(() =>
      this.#enqueue(async () => {
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

  /** Takes answers that other processes have stored, in order with those given here. */
  async onSteps(steps: StepHistory): Promise<void> {
    const hear = async (): Promise<WriteResult> => {
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
      await this.#enqueue(hear);
    } catch (error) {
      // The task has ended, or continues in another process with these answers.
      if (!(error instanceof RuntimeError)) throw error;
    }
  }

  /** @throws {RuntimeError} REPLAY_DIVERGED, naming both */
  #refuseDivergence(does: string): void {
    const missed = this.#questions.missed;
    const sleeps = this.#earlier.sleepEnd(this.#slept + 1) !== undefined && does.startsWith('asks');
    if (!missed && !sleeps) return;
    const did = missed ? `asked ${missed.label} (${missed.key})` : `slept (${this.#slept + 1})`;
    const message = `Handler diverged when it was run again: where it ${did}, it now ${does}. Its questions and sleeps must depend only on its arguments, on answers, and on values from context.once`;
    throw new RuntimeError('REPLAY_DIVERGED', message);
  }

  // Idleness and parking.

  /** Marks the task as busy during an operation. */
  async #whileBusy<T>(act: () => Promise<T>): Promise<T> {
    this.#busy++;
    this.#move({ type: 'work.stirred' });
    try {
      return await act();
    } finally {
      this.#busy--;
      this.suspendIfIdle();
    }
  }

  /** The session begins to close: parks the task as soon as it only waits. */
  closing(): void {
    this.#parkMs = 0;
    this.suspendIfIdle();
  }

  /** The session has ended: parks the task at once. */
  sessionEnded(): void {
    if (this.#move({ type: 'session.ended' })) void this.#park(0);
  }

  /** The handler has ended. */
  end(): void {
    this.#move({ type: 'work.ended' });
    this.#stopTimer();
  }

  suspendIfIdle(): void {
    if (this.#checking || !this.#state.hasTag('here')) return;
    this.#checking = microtasksDone().then(() => {
      this.#checking = undefined;
      this.#checkIdle();
    });
  }

  #checkIdle(): void {
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
      this.#port.onIdle?.();
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
      this.#timer = clock.setTimeout(() => this.#checkIdle(), Math.max(0, next - now));
    }
  }

  /** Parks the task until its next wait is due. */
  async #park(waitMs: number): Promise<void> {
    const parkForMs = Math.min(waitMs, longestParkMs);
    try {
      await this.#enqueue(() => this.#port.append({ steps: [], parkForMs }));
    } catch (error) {
      return this.#reportUnsaved(error);
    }
    if (this.#move({ type: 'parking.written' })) this.#port.onParked();
  }

  #stopTimer(): void {
    this.#port.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  // Writes.

  #write(
    steps: () => readonly TaskStep[],
    more: Pick<TaskProgress, 'isAnnounced'> = {},
  ): Promise<unknown> {
    return this.#enqueue(async () => {
      const written = steps();
      this.#unrepeated.clear();
      this.#count(written);
      return this.#append(written, more);
    });
  }

  /** Reports the first failed write that no handler awaits. */
  #reportUnsaved(error: unknown): void {
    // A task that has ended or runs in another process needs no write.
    if (this.#isUnsaved || (error instanceof RuntimeError && error.code === 'CANCELLED')) return;
    this.#isUnsaved = true;
    this.#port.onUnsaved(error);
  }

  async #append(
    steps: readonly TaskStep[],
    more: Pick<TaskProgress, 'isAnnounced'> = {},
  ): Promise<WriteResult> {
    const name = steps.map(({ key }) => stepName(key, this.#checkpoint)).at(-1);
    const became = await this.#port.append({ steps, ...more });
    this.#lastStep = name ?? this.#lastStep;
    return became;
  }

  /**
   * Counts steps towards the limits. A refused step counts too: until it is replaced, no later step is stored.
   * @throws {RuntimeError} LIMIT_EXCEEDED
   */
  #count(steps: readonly TaskStep[]): void {
    this.#sizes.add(steps);
    const excess = this.#sizes.excess(this.#port.limits);
    if (excess !== undefined) throw new RuntimeError('LIMIT_EXCEEDED', excess);
  }

  /** Queues a write after all earlier ones. */
  #enqueue(write: () => Promise<WriteResult>): Promise<void> {
    const writing = this.#writes.then(async () => {
      if (this.#state.hasTag('over')) throw runsElsewhere();
      if ((await write()) === 'written') return;
      if (this.#move({ type: 'task.overtaken' })) this.#port.onOvertaken();
      throw runsElsewhere();
    });
    this.#writes = writing.catch(() => {});
    return writing;
  }

  /** @returns false if the current state ignores the event */
  #move(event: TaskWorkEvent): boolean {
    const before = this.#state;
    this.#state = taskWorkChart.next(before, event);
    return this.#state !== before;
  }
}

/** Maximum parking time, for a task that waits only for its client, milliseconds. */
const longestParkMs = 30 * 24 * 3600_000;

/** Converts a send error to the error that the handler gets. */
function questionFailure(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  return new RuntimeError('REQUEST_FAILED', 'The client could not be asked', { cause: error });
}

function runsElsewhere(): RuntimeError {
  return new RuntimeError('CANCELLED', 'The task has ended, or runs in another process');
}

function toText(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}

async function fromText(text: string): Promise<unknown> {
  return text === '' ? undefined : JSON.parse(text);
}
