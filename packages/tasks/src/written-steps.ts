/** What is written of a task that can go on in another process: its steps, and what they say. */
import { stateValueName } from '../../../src/machines/names.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { invalidParams } from '../../../src/protocol/errors.ts';
import type { ProtocolError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { inputRequestsOf } from '../../../src/protocol/input-required.ts';
import type { Principal } from '../../../src/protocol/request-origin.ts';
import type { TaskStep } from './task-store.ts';

/** The request that a task was begun with. */
export interface WrittenCall {
  readonly params: JsonObject;
  /** How long its message was, in UTF-16 units. */
  readonly size: number;
  /** Who has sent it. */
  readonly version: string;
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
  readonly party?: string | undefined;
  readonly principal?: Principal | undefined;
  /** True for an ordinary call that its host can send again to another process. */
  readonly isResendable?: boolean | undefined;
}

/** The highest progress that the host of a call may have seen. */
export interface ProgressStep {
  readonly progress: number;
  readonly total?: number | undefined;
}

/** The host of a call: away, or connected to a process. Times are milliseconds since 1970, by the store's clock. */
export type HostStep =
  | { readonly awaySince: number }
  | {
      readonly here: number;
      /** The lease of the process that it is connected to. */
      readonly owner: string;
    };

/** A question that the task has asked. Times are milliseconds since 1970, by the store's clock. */
export interface AskedStep {
  readonly key: string;
  readonly method: string;
  readonly params?: JsonObject | undefined;
  /** The digest of its method and params. */
  readonly print: string;
  /** For people: which question this is. */
  readonly label: string;
  readonly askedAt: number;
  /** When it fails without an answer; absent if it waits as long as its task. */
  readonly until?: number | undefined;
}

/** What has become of a question. */
export type AnswerStep = {
  /** Milliseconds since 1970, by the store's clock. */
  readonly at?: number | undefined;
} & (
  | { readonly answer: JsonObject }
  | { readonly error: { readonly code: string; readonly message: string } }
);

/** How far the work is, as its handler has described it. */
export interface DescribedStep {
  readonly message: string;
  /** Milliseconds since 1970, by the store's clock. */
  readonly at: number;
}

/** From where a handler goes on. What was asked and slept before it counts no more. */
export interface CheckpointStep {
  readonly value: unknown;
  /** How many questions were asked before. */
  readonly asked: number;
  /** How many times it had slept before. */
  readonly slept: number;
}

const sleepKey = 'sleep:';

/** The keys of steps. */
export const stepKeys = {
  call: 'call',
  checkpoint: 'checkpoint',
  /** After how many deaths of its process a task waits before it goes on. */
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
 * A key that every store gives back unchanged. A lone surrogate has no UTF-8, and SQLite cuts a text at a
 * NUL: keys with either are stored as JSON, and so are keys that look like JSON.
 */
function storable(key: string): string {
  return /\p{Surrogate}|\0|^"/u.test(key) ? JSON.stringify(key) : key;
}

/** Steps that are bounded by themselves, and are none of the handler's own. */
const ownStepKeys: ReadonlySet<string> = new Set([
  stepKeys.described,
  stepKeys.progress,
  stepKeys.host,
]);

/** The step of an answer. */
export function answerStep(key: string, answer: AnswerStep): TaskStep {
  return { key: stepKeys.answer(key), text: JSON.stringify(answer) };
}

/** What is kept of a tool that is a machine; see `MachineCheckpoint`. */
interface MachineValue {
  readonly value: Parameters<typeof stateValueName>[0];
  readonly timers?: readonly { readonly dueAt: number }[];
}

/** Undefined if a handler has kept something of its own. */
function machineIn(checkpoint: CheckpointStep | undefined): MachineValue | undefined {
  const { value } = checkpoint ?? {};
  return isJsonObject(value) && 'historyValue' in value
    ? (value as unknown as MachineValue)
    : undefined;
}

/** The last step, for people: its key, or the state that a machine was in when it was written down. */
export function stepName(key: string, checkpoint: CheckpointStep | undefined): string {
  const machine = machineIn(checkpoint);
  return machine ? `state ${stateValueName(machine.value)}` : key;
}

/** Bounds of what one task writes, in all its processes together. */
export interface StepLimits {
  readonly maxTaskSteps: number;
  /** Of all steps together, UTF-16 units. */
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

  /** Adds steps, each in place of an earlier one of its key. */
  add(steps: readonly TaskStep[]): void {
    for (const { key, text } of steps) {
      this.#total += text.length - (this.#lengths.get(key) ?? 0);
      this.#lengths.set(key, text.length);
    }
  }

  /** The bound that is exceeded, as a sentence; undefined if none is. */
  excess({ maxTaskSteps, maxTaskBytes }: StepLimits): string | undefined {
    return this.#lengths.size > maxTaskSteps
      ? `A task may write ${maxTaskSteps} steps`
      : excessOfBytes(this.#total, maxTaskBytes);
  }

  /** The same for answers to come. Their number is bounded by that of the questions. */
  excessOfAnswers(steps: readonly TaskStep[], { maxTaskBytes }: StepLimits): string | undefined {
    const total = steps.reduce((sum, { text }) => sum + text.length, this.#total);
    return excessOfBytes(total, maxTaskBytes);
  }
}

function excessOfBytes(total: number, max: number): string | undefined {
  if (total <= max) return undefined;
  return `A task may write steps of ${max} bytes together, and these are ${total}`;
}

/** The error of a client whose answers exceed a bound of the task. */
export function answersTooLong(excess: string): ProtocolError {
  return invalidParams(`"inputResponses" must be shorter: ${excess}`);
}

/** The steps of a task, read. */
export class WrittenSteps {
  readonly #texts: ReadonlyMap<string, string>;
  /** What was asked, in order. */
  readonly asked: readonly AskedStep[];

  constructor(steps: readonly TaskStep[]) {
    this.#texts = new Map(steps.map(({ key, text }) => [key, text]));
    this.asked = steps
      .filter(({ key }) => key.startsWith(stepKeys.asked('')))
      .map(({ text }) => JSON.parse(text) as AskedStep);
  }

  /** The request; undefined if the task cannot go on. */
  get call(): WrittenCall | undefined {
    return this.#read<WrittenCall>(stepKeys.call);
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

  /** When the client last saw a change, milliseconds since 1970 by the store's clock; -Infinity if never. */
  get changedAt(): number {
    const outcomes = this.asked.map(({ key }) => this.answer(key)?.at ?? -Infinity);
    const asked = this.asked.map(({ askedAt }) => askedAt);
    return Math.max(this.described?.at ?? -Infinity, ...asked, ...outcomes);
  }

  /** The keys of what a handler does again when it is run again: values made once, and sleeps. */
  get repeated(): readonly string[] {
    const kinds = [stepKeys.once(''), sleepKey];
    return [...this.#texts.keys()].filter((key) => kinds.some((kind) => key.startsWith(kind)));
  }

  get restarts(): number {
    return this.#read<number>(stepKeys.restarts) ?? 0;
  }

  /** What `once` has made under a key, as JSON; empty for undefined. Undefined if it was not made. */
  made(key: string): string | undefined {
    return this.#texts.get(stepKeys.once(key));
  }

  answer(key: string): AnswerStep | undefined {
    return this.#read<AnswerStep>(stepKeys.answer(key));
  }

  /** When the nth sleep is over; undefined if it was not begun. */
  wakesAt(nth: number): number | undefined {
    return this.#read<number>(stepKeys.sleep(nth));
  }

  /** The questions that wait for an answer. */
  get open(): readonly AskedStep[] {
    const { asked = 0 } = this.checkpoint ?? {};
    return this.asked.slice(asked).filter(({ key }) => this.answer(key) === undefined);
  }

  /** The same, as clients are asked. */
  get inputRequests(): JsonObject {
    return inputRequestsOf(this.open);
  }

  get sizes(): StepSizes {
    const steps = [...this.#texts].map(([key, text]) => ({ key, text }));
    return new StepSizes(steps.filter(({ key }) => !ownStepKeys.has(key)));
  }

  /** For people: the step that came last; undefined if there was none. */
  get last(): string | undefined {
    const key = [...this.#texts.keys()].findLast((each) => !ownStepKeys.has(each));
    return key === undefined || key === stepKeys.call ? undefined : stepName(key, this.checkpoint);
  }

  /** When the next sleep, timer of a machine or deadline of a question is over after `now`; undefined if none is. */
  nextDue(now: number): number | undefined {
    const sleeps = [...this.#texts].flatMap(([key, text]) =>
      key.startsWith(sleepKey) ? [JSON.parse(text) as number] : [],
    );
    const deadlines = this.open.flatMap(({ until }) => until ?? []);
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
