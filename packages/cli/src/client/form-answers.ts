/** Answers elicitation requests from a file: `--answer FILE`. */
import { readFileSync } from 'node:fs';
import type { ElicitAnswer, FormProvider } from 'mcp-actors/client';
import { isJsonObject } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import { UsageError } from '../command.ts';

/** One answer: form values or a refusal. */
type Answer = JsonObject | 'decline' | 'cancel';

/**
 * Creates a provider from a file that contains form values, "decline" or "cancel", or a list of
 * these, one per request.
 *
 * @param told receives a message for a request without an answer
 * @throws {UsageError} if the file cannot be read or is invalid
 */
export function answersIn(file: string, told: (line: string) => void): FormProvider {
  const answers = readAnswers(file);
  let next = 0;
  return ({ message, requestedSchema }): ElicitAnswer => {
    const answer = 'inTurn' in answers ? answers.inTurn[next++] : answers.always;
    if (answer === undefined) {
      told(`${file} has no answer for request ${next}, which is declined: ${message}`);
      return { action: 'decline' };
    }
    if (typeof answer === 'string') return { action: answer };
    // A file may answer several forms, so send only the fields of this one.
    const properties = isJsonObject(requestedSchema['properties'])
      ? requestedSchema['properties']
      : {};
    const content = Object.entries(answer).filter(([name]) => Object.hasOwn(properties, name));
    return { action: 'accept', content: Object.fromEntries(content) };
  };
}

type Answers = { readonly always: Answer } | { readonly inTurn: readonly Answer[] };

function readAnswers(file: string): Answers {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`--answer: ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (isAnswer(value)) return { always: value };
  if (Array.isArray(value) && value.every(isAnswer)) return { inTurn: value };
  throw new UsageError(
    `--answer: ${file} must contain an object with form values, "decline" or "cancel", or a list of these`,
  );
}

const isAnswer = (value: unknown): value is Answer =>
  isJsonObject(value) || value === 'decline' || value === 'cancel';
