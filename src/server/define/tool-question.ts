/** What a tool that is a machine asks in its waiting states, and what it hears. */
import type { RootsReport } from '../../protocol/roots.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { RuntimeError } from '../../protocol/errors.ts';
import type { UrlRequest } from '../context/elicitation.ts';
import type { Sample, SamplingRequest } from '../context/sampling.ts';
import type { Form, FormSource } from '../../../packages/schema/src/forms/form.ts';

/** What a waiting state asks: one of these. */
export type ToolQuestion =
  /** See {@link HandlerContext.elicit}. */
  | { readonly elicit: { readonly message: string; readonly schema: FormSource | Form<unknown> } }
  /** See {@link HandlerContext.elicitUrl}. */
  | { readonly elicitUrl: UrlRequest }
  /** See {@link HandlerContext.sample}. */
  | { readonly sample: SamplingRequest }
  /** See {@link HandlerContext.roots}. */
  | { readonly roots: true };

/** The `meta` of a waiting state. The machine's other states may have any. */
export interface WaitingMeta<TContext = never> {
  readonly ask?: ToolQuestion | ((state: { readonly context: TContext }) => ToolQuestion);
}

/** What a waiting state hears. If it has no transition for it the call fails. */
export type ToolAnswer<TContent = unknown> =
  | { readonly type: 'answer.accepted'; readonly content: TContent }
  | { readonly type: 'answer.declined' }
  /** Nobody chose. */
  | { readonly type: 'answer.cancelled' }
  | { readonly type: 'answer.sampled'; readonly sample: Sample }
  | { readonly type: 'answer.roots'; readonly report: RootsReport }
  /** It could not be asked, or the answer was of no use. */
  | { readonly type: 'answer.failed'; readonly error: RuntimeError };

/** The tag of the states that wait for the client. */
export const waiting = 'waiting';

/** What a question of each kind can bring. That it could not be asked ends the call by itself. */
const answers = {
  elicit: ['answer.accepted', 'answer.declined', 'answer.cancelled'],
  elicitUrl: ['answer.accepted', 'answer.declined', 'answer.cancelled'],
  sample: ['answer.sampled'],
  roots: ['answer.roots'],
} as const satisfies { readonly [kind: string]: readonly ToolAnswer['type'][] };

/** What is wrong with a question; undefined if nothing is. */
export function validateQuestion(question: unknown): string | undefined {
  const kinds = Object.keys(answers).join(', ');
  if (!isJsonObject(question)) {
    return `must be an object with one of ${kinds}, this is ${inspectValue(question)}`;
  }
  const given = Object.keys(question);
  const [kind = ''] = given;
  if (given.length !== 1 || !Object.hasOwn(answers, kind)) {
    const got = given.length === 0 ? 'nothing' : given.map((each) => inspectValue(each)).join(', ');
    return `must have one of ${kinds}, this has ${got}`;
  }
  const asked = question[kind];
  const isRight = kind === 'roots' ? asked === true : isJsonObject(asked);
  const wanted = kind === 'roots' ? 'true' : 'an object';
  return isRight
    ? undefined
    : `has "${kind}", which must be ${wanted}, this is ${inspectValue(asked)}`;
}

/** The answers that a question can bring. */
export function answersTo(question: ToolQuestion): readonly string[] {
  const [kind] = Object.keys(question) as [keyof typeof answers];
  return answers[kind];
}

/** The answers that any question can bring. */
export const answersOf: readonly string[] = Object.values(answers).flat();
