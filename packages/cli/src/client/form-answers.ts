/** Answers to a server's questions from a file: `--answer FILE`. */
import { readFileSync } from 'node:fs';
import type { ElicitAnswer, FormProvider } from 'mcp-actors/client';
import { isJsonObject } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import { UsageError } from '../command.ts';

/** One answer: the values of a form, or a refusal. */
type Answer = JsonObject | 'decline' | 'cancel';

/**
 * Reads the answers: an object with the values of a form, "decline" or "cancel", or a list of
 * those, one for each question in turn.
 *
 * @param told called for a question without an answer
 * @throws {UsageError} the file cannot be read, or says something else
 */
export function answersIn(file: string, told: (line: string) => void): FormProvider {
  const answers = readAnswers(file);
  let next = 0;
  return ({ message, requestedSchema }): ElicitAnswer => {
    const answer = 'inTurn' in answers ? answers.inTurn[next++] : answers.always;
    if (answer === undefined) {
      told(`${file} has no answer to question ${next}, which is declined: ${message}`);
      return { action: 'decline' };
    }
    if (typeof answer === 'string') return { action: answer };
    // One file may answer several forms; a form gets what it asks for.
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
    `--answer: ${file} must hold an object with a form's values, "decline" or "cancel", or a list of those`,
  );
}

const isAnswer = (value: unknown): value is Answer =>
  isJsonObject(value) || value === 'decline' || value === 'cancel';
