/** Questions of waiting states in machine tools, and the events of their answers. */
import type { RootsReport } from '../../protocol/roots.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { RuntimeError } from '../../protocol/errors.ts';
import type { UrlRequest } from '../context/elicitation.ts';
import type { Sample, SamplingRequest } from '../context/sampling.ts';
import type { Form, FormSource } from '../../../packages/schema/src/forms/form.ts';

/** Question of a waiting state: an object with exactly one member. */
export type ToolQuestion =
  /** See {@link HandlerContext.elicit}. */
  | { readonly elicit: { readonly message: string; readonly schema: FormSource | Form<unknown> } }
  /** See {@link HandlerContext.elicitUrl}. */
  | { readonly elicitUrl: UrlRequest }
  /** See {@link HandlerContext.sample}. */
  | { readonly sample: SamplingRequest }
  /** See {@link HandlerContext.roots}. */
  | { readonly roots: true };

/** The `meta` of a waiting state. Other states may have any `meta`. */
export interface WaitingMeta<TContext = never> {
  readonly ask?: ToolQuestion | ((state: { readonly context: TContext }) => ToolQuestion);
}

/** Event with the answer to a question. The call fails if the state has no transition for it. */
export type ToolAnswer<TContent = unknown> =
  | { readonly type: 'answer.accepted'; readonly content: TContent }
  | { readonly type: 'answer.declined' }
  /** The user dismissed the question. */
  | { readonly type: 'answer.cancelled' }
  | { readonly type: 'answer.sampled'; readonly sample: Sample }
  | { readonly type: 'answer.roots'; readonly report: RootsReport }
  /** The question could not be sent, or the answer was invalid. */
  | { readonly type: 'answer.failed'; readonly error: RuntimeError };

/** Tag of states that wait for the client. */
export const waitingTag = 'waiting';

/** Possible answers by kind of question. `answer.failed` is optional: unhandled, it ends the call. */
const answers = {
  elicit: ['answer.accepted', 'answer.declined', 'answer.cancelled'],
  elicitUrl: ['answer.accepted', 'answer.declined', 'answer.cancelled'],
  sample: ['answer.sampled'],
  roots: ['answer.roots'],
} as const satisfies { readonly [kind: string]: readonly ToolAnswer['type'][] };

/** A problem with a question; undefined if valid. */
export function validateQuestion(question: unknown): string | undefined {
  const kinds = Object.keys(answers).join(', ');
  if (!isJsonObject(question)) {
    return `must be an object with one of ${kinds}, got ${inspectValue(question)}`;
  }
  const given = Object.keys(question);
  const [kind = ''] = given;
  if (given.length !== 1 || !Object.hasOwn(answers, kind)) {
    const got = given.length === 0 ? 'nothing' : given.map((each) => inspectValue(each)).join(', ');
    return `must have one of ${kinds}, got ${got}`;
  }
  const asked = question[kind];
  const isRight = kind === 'roots' ? asked === true : isJsonObject(asked);
  const wanted = kind === 'roots' ? 'true' : 'an object';
  return isRight ? undefined : `has "${kind}", which must be ${wanted}, got ${inspectValue(asked)}`;
}

/** Possible answers to a question. */
export function answersFor(question: ToolQuestion): readonly string[] {
  const [kind] = Object.keys(question) as [keyof typeof answers];
  return answers[kind];
}

/** Possible answers to any question. */
export const allAnswers: readonly string[] = Object.values(answers).flat();
