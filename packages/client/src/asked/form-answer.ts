/**
 * Answers to a server's form. Fields left empty get the schema's defaults; content that the schema
 * does not allow is rejected.
 *
 * @see MCP 2025-11-25, client/elicitation, "Requested Schema"
 */
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import type { FormDescription, FormField } from '../../../../src/protocol/form.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { validateFieldValue, stepsForStranger } from '../../../schema/src/forms/field-value.ts';
import { readForm } from '../../../schema/src/forms/read-form.ts';
import type { Steps } from '../../../schema/src/pattern.ts';
import type { ElicitAnswer } from './providers.ts';

const actions: readonly unknown[] = ['accept', 'decline', 'cancel'];

/** A problem with a server's form; undefined if the form can be shown. */
export function validateForm({ message, requestedSchema }: JsonObject): string | undefined {
  if (typeof message !== 'string')
    return `"message" must be a string, got ${inspectValue(message)}`;
  const properties = isJsonObject(requestedSchema) ? requestedSchema['properties'] : undefined;
  if (isJsonObject(properties)) return undefined;
  return `"requestedSchema" must be an object with "properties", got ${inspectValue(requestedSchema)}`;
}

/**
 * Parses the `requestedSchema` of a server's form into fields, to ask a person for each.
 *
 * @throws {TypeError} a property is not allowed in a form; the message names it
 */
export function formFields(schema: JsonObject): FormDescription {
  return readForm(schema, stepsForStranger());
}

/**
 * A problem with a person's input, phrased to follow the field's name; undefined if valid. Patterns
 * that take too long to match are left to the server.
 */
export function validateInput(field: FormField, value: unknown): string | undefined {
  return validateFieldValue(field, value, stepsForStranger());
}

/**
 * The answer to send.
 *
 * @throws {TypeError} the answer is malformed, or its content does not match the form's schema
 */
export function formAnswer(schema: JsonObject, answer: unknown): JsonObject {
  if (!isJsonObject(answer) || !actions.includes(answer['action'])) {
    const got = isJsonObject(answer) ? inspectValue(answer['action']) : inspectValue(answer);
    throw new TypeError(
      `The answer to a form must have an "action" of accept, decline or cancel, got ${got}`,
    );
  }
  const { action, content = {} } = answer as JsonObject & ElicitAnswer;
  if (action !== 'accept') return { action };
  if (!isJsonObject(content)) {
    throw new TypeError(`The "content" of a form must be an object, got ${inspectValue(content)}`);
  }
  const filled = withDefaults(schema, content);
  const faults = faultsOf(schema, filled);
  if (faults.length === 0) return { action, content: filled };
  throw new TypeError(
    `The answer does not match the form's schema: ${faults.slice(0, 8).join('; ')}`,
  );
}

function propertiesOf({ properties }: JsonObject): readonly (readonly [string, unknown])[] {
  return Object.entries(properties as JsonObject);
}

/** Fills in the defaults of missing properties (SEP-1034). */
function withDefaults(schema: JsonObject, content: JsonObject): JsonObject {
  const defaults = propertiesOf(schema).flatMap(([name, property]) => {
    const value = isJsonObject(property) ? property['default'] : undefined;
    return value === undefined || Object.hasOwn(content, name) ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(defaults), ...content };
}

function faultsOf(schema: JsonObject, content: JsonObject): readonly string[] {
  const { required } = schema;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const missing = names
    .filter((name) => typeof name === 'string' && !Object.hasOwn(content, name))
    .map((name) => `${inspectValue(name)} is missing`);
  // Checks beyond this step budget are left to the server, which validates the values anyway.
  const steps = stepsForStranger();
  const wrong = propertiesOf(schema).flatMap(([name, property]) => {
    if (!Object.hasOwn(content, name)) return [];
    const field = fieldOf(name, property, steps);
    const fault = field && validateFieldValue(field, content[name], steps);
    return fault === undefined ? [] : [`${inspectValue(name)} ${fault}`];
  });
  return [...missing, ...wrong];
}

/**
 * Parses a property as a form field; undefined if the protocol has no such field, so that the
 * server must check it.
 */
function fieldOf(name: string, property: unknown, steps: Steps): FormField | undefined {
  try {
    return readForm({ type: 'object', properties: { [name]: property } }, steps).fields[0];
  } catch {
    return undefined;
  }
}
