/**
 * A handler that refuses to go on before a person has opened some URLs: the error `-32042` of
 * 2025-11-25, which the stateless era has no more. The client is asked to have them opened, and the
 * handler is run again after that.
 *
 * @see MCP 2026-07-28, basic, "Error Codes"
 */
import { forgettable } from '../actors/exchange.ts';
import { isJsonObject } from '../protocol/classify.ts';
import { ErrorCode, ProtocolError } from '../protocol/errors.ts';
import { Method } from '../protocol/methods.ts';
import { Question } from './question.ts';
import type { StateSealer } from './request-state.ts';

/** The error `-32042`, in its essence. */
export interface Demand {
  readonly data: {
    readonly elicitations: readonly { readonly url: string; readonly message: string }[];
  };
}

export function isDemand(error: unknown): error is ProtocolError & Demand {
  return (
    error instanceof ProtocolError &&
    error.code === ErrorCode.urlElicitationRequired &&
    isJsonObject(error.data) &&
    Array.isArray(error.data['elicitations'])
  );
}

/** The questions that take the place of the error: nobody waits for their answers. */
export async function questionsOf(
  { data: { elicitations } }: Demand,
  keeper: ConstructorParameters<typeof Question>[1] & { readonly sealer: StateSealer },
): Promise<readonly Question[]> {
  const questions = elicitations.map(({ url, message }) => {
    const params = { mode: 'url', message, url };
    const spec = { method: Method.elicit, params, timeoutMs: Infinity, maxTotalMs: Infinity };
    const question = new Question(spec, keeper);
    question.isDemand = true;
    void forgettable(question.result);
    return question;
  });
  await Promise.all(questions.map((question) => question.takePrint(keeper.sealer)));
  return questions;
}
