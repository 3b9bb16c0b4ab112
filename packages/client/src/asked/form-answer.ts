/**
 * The answer to a form: fields that the person left alone get the defaults of the schema, and
 * nothing is sent that the form does not allow.
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

/** What is wrong with a form from a server; undefined if it can be shown. */
export function validateForm({ message, requestedSchema }: JsonObject): string | undefined {
  if (typeof message !== 'string')
    return `"message" must be a string, this is ${inspectValue(message)}`;
  const properties = isJsonObject(requestedSchema) ? requestedSchema['properties'] : undefined;
  if (isJsonObject(properties)) return undefined;
  return `"requestedSchema" must be an object with "properties", this is ${inspectValue(requestedSchema)}`;
}

/**
 * Reads the `requestedSchema` of a server's form as fields, to ask a person for each.
 *
 * @throws {TypeError} naming the property that the protocol does not allow in a form, and why
 */
export function formFields(schema: JsonObject): FormDescription {
  return readForm(schema, stepsForStranger());
}

/**
 * What is wrong with a person's input, as the rest of a sentence that begins with the field's name;
 * undefined if nothing is. A pattern that takes too long to compare is left to the server.
 */
export function validateInput(field: FormField, value: unknown): string | undefined {
  return validateFieldValue(field, value, stepsForStranger());
}

/**
 * The answer as it is sent.
 *
 * @throws {TypeError} it is not a valid answer, or its content does not conform to the form's
 *   schema
 */
export function formAnswer(schema: JsonObject, answer: unknown): JsonObject {
  if (!isJsonObject(answer) || !actions.includes(answer['action'])) {
    const got = isJsonObject(answer) ? inspectValue(answer['action']) : inspectValue(answer);
    throw new TypeError(
      `The answer to a form must have an "action" of accept, decline or cancel, this is ${got}`,
    );
  }
  const { action, content = {} } = answer as JsonObject & ElicitAnswer;
  if (action !== 'accept') return { action };
  if (!isJsonObject(content)) {
    throw new TypeError(
      `The "content" of a form must be an object, this is ${inspectValue(content)}`,
    );
  }
  const filled = withDefaults(schema, content);
  const faults = faultsOf(schema, filled);
  if (faults.length === 0) return { action, content: filled };
  throw new TypeError(`The answer does not conform to the form: ${faults.slice(0, 8).join('; ')}`);
}

function propertiesOf({ properties }: JsonObject): readonly (readonly [string, unknown])[] {
  return Object.entries(properties as JsonObject);
}

/** The content, with the defaults of missing properties (SEP-1034). */
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
  // A check that takes more steps than this is left to the server, which checks the values too.
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
 * Reads a property as a form field; undefined if the protocol has no such field: then the server
 * checks it.
 */
function fieldOf(name: string, property: unknown, steps: Steps): FormField | undefined {
  try {
    return readForm({ type: 'object', properties: { [name]: property } }, steps).fields[0];
  } catch {
    return undefined;
  }
}
