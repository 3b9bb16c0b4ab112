/** The stored steps of a resumable task, and their content. */
import { stateValueName } from '../../../src/machines/names.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { invalidParams } from '../../../src/protocol/errors.ts';
import type { ProtocolError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { inputRequestsOf } from '../../../src/protocol/input-required.ts';
import type { Principal } from '../../../src/protocol/request-origin.ts';
import type { TaskStep } from './task-store.ts';

/** The request that created a task. */
export interface StoredCall {
  readonly params: JsonObject;
  /** Length of its message, UTF-16 units. */
  readonly size: number;
  /** Protocol version, info and capabilities of the client. */
  readonly version: string;
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
  readonly party?: string | undefined;
  readonly principal?: Principal | undefined;
  /** True for an ordinary call that its host can resend to another process. */
  readonly isResendable?: boolean | undefined;
}

/** The highest progress that the host of a call may have received. */
export interface ProgressStep {
  readonly progress: number;
  readonly total?: number | undefined;
}

/** Whether the host of a call is connected. Times are milliseconds since 1970, by the store's clock. */
export type HostStep =
  | { readonly awaySince: number }
  | {
      readonly here: number;
      /** Lease of the process that the host is connected to. */
      readonly owner: string;
    };

/** A question of the task. Times are milliseconds since 1970, by the store's clock. */
export interface AskedStep {
  readonly key: string;
  readonly method: string;
  readonly params?: JsonObject | undefined;
  /** Digest of its method and params. */
  readonly print: string;
  /** Description for people. */
  readonly label: string;
  readonly askedAt: number;
  /** Deadline of the answer. Default: the end of the task. */
  readonly until?: number | undefined;
}

/** The outcome of a question. */
export type AnswerStep = {
  /** Milliseconds since 1970, by the store's clock. */
  readonly at?: number | undefined;
} & (
  | { readonly answer: JsonObject }
  | { readonly error: { readonly code: string; readonly message: string } }
);

/** A status message of the handler. */
export interface DescribedStep {
  readonly message: string;
  /** Milliseconds since 1970, by the store's clock. */
  readonly at: number;
}

/** The state from which a handler resumes. Earlier questions and sleeps are not replayed. */
export interface CheckpointStep {
  readonly value: unknown;
  /** Number of questions asked before the checkpoint. */
  readonly asked: number;
  /** Number of sleeps before the checkpoint. */
  readonly slept: number;
}

const sleepKey = 'sleep:';

export const stepKeys = {
  call: 'call',
  checkpoint: 'checkpoint',
  /** Restarts after which a task has already backed off. */
  restarts: 'restarts',
  described: 'described',
  progress: 'progress',
  host: 'host',
  once: (key: string) => `once:${storable(key)}`,
  asked: (key: string) => `asked:${storable(key)}`,
  answer: (key: string) => `answer:${storable(key)}`,
  sleep: (nth: number) => `${sleepKey}${nth}`,
} as const;

/**
 * Encodes a key so that every store returns it unchanged. A lone surrogate has no UTF-8 form, and SQLite cuts a text
 * at a NUL: such keys are stored as JSON, and so are keys that look like JSON.
 */
function storable(key: string): string {
  return /\p{Surrogate}|\0|^"/u.test(key) ? JSON.stringify(key) : key;
}

/** Steps of the runtime, which are bounded and do not count towards the task's limits. */
const ownStepKeys: ReadonlySet<string> = new Set([
  stepKeys.described,
  stepKeys.progress,
  stepKeys.host,
]);

export function answerStep(key: string, answer: AnswerStep): TaskStep {
  return { key: stepKeys.answer(key), text: JSON.stringify(answer) };
}

/** Checkpoint of a machine tool; see `MachineCheckpoint`. */
interface MachineValue {
  readonly value: Parameters<typeof stateValueName>[0];
  readonly timers?: readonly { readonly dueAt: number }[];
}

/** Undefined for the checkpoint of an ordinary handler. */
function machineIn(checkpoint: CheckpointStep | undefined): MachineValue | undefined {
  const { value } = checkpoint ?? {};
  return isJsonObject(value) && 'historyValue' in value
    ? (value as unknown as MachineValue)
    : undefined;
}

/** A step for people: its key, or the state of a machine tool. */
export function stepName(key: string, checkpoint: CheckpointStep | undefined): string {
  const machine = machineIn(checkpoint);
  return machine ? `state ${stateValueName(machine.value)}` : key;
}

/** Limits on the steps of one task, across all its processes. */
export interface StepLimits {
  readonly maxTaskSteps: number;
  /** Total size of all steps, UTF-16 units. */
  readonly maxTaskBytes: number;
}

/** The sizes of the steps of a task. */
export class StepSizes {
  readonly #lengths = new Map<string, number>();
  /** UTF-16 units. */
  #total = 0;

  constructor(steps: readonly TaskStep[]) {
    this.add(steps);
  }

  /** Adds steps; each replaces an earlier one with its key. */
  add(steps: readonly TaskStep[]): void {
    for (const { key, text } of steps) {
      this.#total += text.length - (this.#lengths.get(key) ?? 0);
      this.#lengths.set(key, text.length);
    }
  }

  /** The exceeded limit, as a sentence; undefined if none is exceeded. */
  excess({ maxTaskSteps, maxTaskBytes }: StepLimits): string | undefined {
    return this.#lengths.size > maxTaskSteps
      ? `Task steps must be at most ${maxTaskSteps}, got ${this.#lengths.size}`
      : excessOfBytes(this.#total, maxTaskBytes);
  }

  /** As {@link excess}, for answers to add. Their number is limited by that of the questions. */
  excessOfAnswers(steps: readonly TaskStep[], { maxTaskBytes }: StepLimits): string | undefined {
    const total = steps.reduce((sum, { text }) => sum + text.length, this.#total);
    return excessOfBytes(total, maxTaskBytes);
  }
}

function excessOfBytes(total: number, max: number): string | undefined {
  if (total <= max) return undefined;
  return `Task steps must be at most ${max} bytes together, got ${total}`;
}

/** The error for answers that exceed a limit of the task. */
export function answersTooLong(excess: string): ProtocolError {
  return invalidParams(`"inputResponses" must be shorter: ${excess}`);
}

/** The decoded steps of a task. */
export class StepHistory {
  readonly #texts: ReadonlyMap<string, string>;
  /** All questions, in order. */
  readonly asked: readonly AskedStep[];

  constructor(steps: readonly TaskStep[]) {
    this.#texts = new Map(steps.map(({ key, text }) => [key, text]));
    this.asked = steps
      .filter(({ key }) => key.startsWith(stepKeys.asked('')))
      .map(({ text }) => JSON.parse(text) as AskedStep);
  }

  /** The request; undefined if the task cannot be resumed. */
  get call(): StoredCall | undefined {
    return this.#read<StoredCall>(stepKeys.call);
  }

  get checkpoint(): CheckpointStep | undefined {
    return this.#read<CheckpointStep>(stepKeys.checkpoint);
  }

  get described(): DescribedStep | undefined {
    return this.#read<DescribedStep>(stepKeys.described);
  }

  /** Undefined before the first report, and for tasks. */
  get progress(): ProgressStep | undefined {
    return this.#read<ProgressStep>(stepKeys.progress);
  }

  /** Undefined for tasks. */
  get host(): HostStep | undefined {
    return this.#read<HostStep>(stepKeys.host);
  }

  /** Time of the last change visible to the client, milliseconds since 1970 by the store's clock; -Infinity if none. */
  get changedAt(): number {
    const outcomes = this.asked.map(({ key }) => this.answer(key)?.at ?? -Infinity);
    const asked = this.asked.map(({ askedAt }) => askedAt);
    return Math.max(this.described?.at ?? -Infinity, ...asked, ...outcomes);
  }

  /** Keys of the steps that a restarted handler replays: `once` values and sleeps. */
  get replayedKeys(): readonly string[] {
    const kinds = [stepKeys.once(''), sleepKey];
    return [...this.#texts.keys()].filter((key) => kinds.some((kind) => key.startsWith(kind)));
  }

  get restarts(): number {
    return this.#read<number>(stepKeys.restarts) ?? 0;
  }

  /** The stored JSON of a `once` value, empty for `undefined`; undefined if there is none. */
  onceValue(key: string): string | undefined {
    return this.#texts.get(stepKeys.once(key));
  }

  answer(key: string): AnswerStep | undefined {
    return this.#read<AnswerStep>(stepKeys.answer(key));
  }

  /** End of the nth sleep; undefined if it has not begun. */
  sleepEnd(nth: number): number | undefined {
    return this.#read<number>(stepKeys.sleep(nth));
  }

  /** Questions without an answer. */
  get openQuestions(): readonly AskedStep[] {
    const { asked = 0 } = this.checkpoint ?? {};
    return this.asked.slice(asked).filter(({ key }) => this.answer(key) === undefined);
  }

  /** Open questions, as `inputRequests`. */
  get inputRequests(): JsonObject {
    return inputRequestsOf(this.openQuestions);
  }

  get sizes(): StepSizes {
    const steps = [...this.#texts].map(([key, text]) => ({ key, text }));
    return new StepSizes(steps.filter(({ key }) => !ownStepKeys.has(key)));
  }

  /** The last step, for people; undefined if there is none. */
  get lastStep(): string | undefined {
    const key = [...this.#texts.keys()].findLast((each) => !ownStepKeys.has(each));
    return key === undefined || key === stepKeys.call ? undefined : stepName(key, this.checkpoint);
  }

  /** The next end of a sleep, machine timer or question deadline after `now`; undefined if there is none. */
  nextDue(now: number): number | undefined {
    const sleeps = [...this.#texts].flatMap(([key, text]) =>
      key.startsWith(sleepKey) ? [JSON.parse(text) as number] : [],
    );
    const deadlines = this.openQuestions.flatMap(({ until }) => until ?? []);
    const { timers = [] } = machineIn(this.checkpoint) ?? {};
    const all = [...sleeps, ...deadlines, ...timers.map(({ dueAt }) => dueAt)];
    const ahead = all.filter((dueAt) => dueAt > now);
    return ahead.length > 0 ? Math.min(...ahead) : undefined;
  }

  #read<T>(key: string): T | undefined {
    const text = this.#texts.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  }
}
