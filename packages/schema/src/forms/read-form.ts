/**
 * Reads a JSON Schema as a form, and rejects keywords that the protocol does not allow in one.
 * Libraries express the same field in several ways (`const`, `enum` without a type, a union of
 * constants); all are accepted.
 *
 * @see MCP 2025-11-25, client/elicitation, "Requested Schema"
 */
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import type {
  ChoiceField,
  ChoicesField,
  FormDescription,
  FormField,
  Option,
  TextFormat,
} from '../../../../src/protocol/form.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { patternOf } from '../pattern.ts';
import type { Steps } from '../pattern.ts';
import { validateFieldValue } from './field-value.ts';

/**
 * Reads a schema as a form.
 *
 * @param foreign step budget for the patterns of an untrusted form. A pattern that exceeds it, or
 *   cannot be matched in bounded time, is dropped.
 * @throws {TypeError} naming the property that the protocol does not allow in a form, and the
 *   reason
 */
export function readForm(schema: unknown, foreign?: Steps): FormDescription {
  if (!isJsonObject(schema) || schema['type'] !== 'object') {
    throw new TypeError(`A form's schema must have "type": "object", got ${inspectValue(schema)}`);
  }
  const { properties, required = [] } = schema;
  if (!isJsonObject(properties)) {
    throw new TypeError(`A form's "properties" must be an object, got ${inspectValue(properties)}`);
  }
  allowKeywords(schema, 'A form', [
    '$schema',
    'type',
    'title',
    'description',
    'properties',
    'required',
    'additionalProperties',
  ]);
  const fields = Object.entries(properties).map(([name, field]) => readField(name, field, foreign));
  if (!isListOfStrings(required)) {
    throw new TypeError('A form\'s "required" must be an array of property names');
  }
  const unknown = required.find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) {
    throw new TypeError(
      `A form's "required" names ${inspectValue(unknown)}, which is not one of its properties`,
    );
  }
  return { fields, required };
}

function readField(name: string, schema: unknown, foreign: Steps | undefined): FormField {
  const what = `The form's property ${inspectValue(name)}`;
  if (!isJsonObject(schema)) {
    throw new TypeError(`${what} must be a schema, got ${inspectValue(schema)}`);
  }
  const field = readKind(name, what, schema, foreign);
  const { default: given } = schema;
  if (given === undefined) return field;
  const fault = validateFieldValue(field, given, foreign);
  if (fault !== undefined) throw new TypeError(`${what}: its default ${fault}`);
  return { ...field, default: given };
}

const common = ['type', 'title', 'description', 'default'];
const unionKeywords = ['enum', 'enumNames', 'const', 'oneOf', 'anyOf'];

function readKind(
  name: string,
  what: string,
  schema: JsonObject,
  foreign: Steps | undefined,
): FormField {
  const label = {
    name,
    title: text(schema, 'title', what),
    description: text(schema, 'description', what),
  };
  const type = schema['type'];
  if ((type === 'string' || type === undefined) && unionKeywords.some((key) => key in schema)) {
    allowKeywords(schema, what, [...common, ...unionKeywords]);
    return { ...label, kind: 'choice', ...readOptions(schema, what) };
  }
  switch (type) {
    case 'string':
      return { ...label, kind: 'text', ...readText(schema, what, foreign) };
    case 'number':
    case 'integer':
      allowKeywords(schema, what, [...common, 'minimum', 'maximum']);
      return { ...label, kind: type, ...readLimits(schema, what) };
    case 'boolean':
      allowKeywords(schema, what, common);
      return { ...label, kind: 'boolean' };
    case 'array':
      return { ...label, kind: 'choices', ...readList(schema, what) };
    default:
      throw new TypeError(
        `${what} must be a string, number, integer, boolean or a choice (forms are flat objects), got ${JSON.stringify(schema).slice(0, 200)}`,
      );
  }
}

function readLimits(schema: JsonObject, what: string) {
  const [minimum, maximum] = range(schema, what, ['minimum', 'maximum'], isFinite);
  return { minimum, maximum };
}

function readText(schema: JsonObject, what: string, foreign: Steps | undefined) {
  allowKeywords(schema, what, [...common, 'minLength', 'maxLength', 'pattern', 'format']);
  const pattern = checkedPattern(text(schema, 'pattern', what), what, foreign);
  const format = text(schema, 'format', what);
  if (format !== undefined && !isTextFormat(format)) {
    const known = textFormats.join(', ');
    throw new TypeError(`${what}: "format" must be one of ${known}, got ${inspectValue(format)}`);
  }
  const [minLength, maxLength] = range(schema, what, ['minLength', 'maxLength'], isCount);
  return { minLength, maxLength, pattern, format };
}

const textFormats: readonly TextFormat[] = ['email', 'uri', 'date', 'date-time'];

function isTextFormat(format: string): format is TextFormat {
  return textFormats.some((known) => known === format);
}

function checkedPattern(
  pattern: string | undefined,
  what: string,
  foreign: Steps | undefined,
): string | undefined {
  if (pattern === undefined) return undefined;
  try {
    patternOf(pattern, foreign);
    return pattern;
  } catch (cause) {
    if (cause instanceof SyntaxError) {
      throw new TypeError(`${what}: "pattern" must be a regular expression, got ${pattern}`, {
        cause,
      });
    }
    if (foreign) return undefined;
    throw new TypeError(
      `${what}: "pattern" ${(cause as Error).message}: ${inspectValue(pattern)}`,
      { cause },
    );
  }
}

function readList(schema: JsonObject, what: string): Omit<ChoicesField, 'name' | 'kind'> {
  allowKeywords(schema, what, [...common, 'items', 'minItems', 'maxItems']);
  const { items } = schema;
  if (!isJsonObject(items) || !unionKeywords.some((key) => key in items)) {
    const message = `${what} is an array, so its "items" must list choices with "enum" or "anyOf"`;
    throw new TypeError(message);
  }
  const { type = 'string' } = items;
  if (type !== 'string') {
    throw new TypeError(`${what}: items must be strings, got type ${inspectValue(type)}`);
  }
  allowKeywords(items, what, ['type', 'enum', 'const', 'oneOf', 'anyOf']);
  const { options, style } = readOptions(items, what);
  const [minItems, maxItems] = range(schema, what, ['minItems', 'maxItems'], isCount);
  return { options, style: style === 'legacy' ? 'titled' : style, minItems, maxItems };
}

function readOptions(schema: JsonObject, what: string): Pick<ChoiceField, 'options' | 'style'> {
  const { enum: values, enumNames, const: only, oneOf, anyOf } = schema;
  const members = oneOf ?? anyOf;
  if (members !== undefined) return readMembers(members, what);
  const list = values ?? [only];
  if (!isListOfStrings(list) || list.length === 0) {
    throw new TypeError(`${what} must have an "enum" with at least one string`);
  }
  assertUnique(list, what);
  if (enumNames === undefined) {
    return { style: 'untitled', options: list.map((value) => ({ value })) };
  }
  if (!isListOfStrings(enumNames) || enumNames.length !== list.length) {
    throw new TypeError(
      `${what} must have one string in "enumNames" per value: ${list.length} strings`,
    );
  }
  const options = list.map((value, at) => ({ value, title: enumNames[at] }));
  return { style: 'legacy', options };
}

/** Reads `oneOf` or `anyOf`, whose members are constants with optional titles. */
function readMembers(members: unknown, what: string): Pick<ChoiceField, 'options' | 'style'> {
  const list: readonly unknown[] = Array.isArray(members) ? members : [];
  const options: Option[] = [];
  for (const member of list) {
    const { const: value, title, type = 'string' } = isJsonObject(member) ? member : {};
    const isTitle = title === undefined || typeof title === 'string';
    if (typeof value !== 'string' || !isTitle || type !== 'string') {
      throw new TypeError(
        `${what} must be a choice of strings, each { "const": …, "title": … }; got ${JSON.stringify(member)?.slice(0, 200)}`,
      );
    }
    options.push({ value, title });
  }
  if (options.length === 0) throw new TypeError(`${what} must have at least one choice`);
  assertUnique(
    options.map(({ value }) => value),
    what,
  );
  const style = options.some(({ title }) => title !== undefined) ? 'titled' : 'untitled';
  return { style, options };
}

function assertUnique(values: readonly string[], what: string): void {
  const seen = new Set<string>();
  for (const value of values) {
    if (seen.has(value))
      throw new TypeError(`${what} lists the value ${inspectValue(value)} twice`);
    seen.add(value);
  }
}

function allowKeywords(schema: JsonObject, what: string, allowed: readonly string[]): void {
  const other = Object.keys(schema).find((keyword) => !allowed.includes(keyword));
  if (other === undefined) return;
  throw new TypeError(
    `${what} has the keyword ${inspectValue(other)}, which forms do not support here; supported: ${allowed.join(', ')}`,
  );
}

function text(schema: JsonObject, keyword: string, what: string): string | undefined {
  const value = schema[keyword];
  if (value === undefined || typeof value === 'string') return value;
  throw new TypeError(`${what}: "${keyword}" must be a string, got ${inspectValue(value)}`);
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Reads an optional lower and upper bound. */
function range(
  schema: JsonObject,
  what: string,
  [low, high]: readonly [string, string],
  isBound: (value: unknown) => value is number,
): readonly [number | undefined, number | undefined] {
  const bound = (keyword: string) => {
    const value = schema[keyword];
    if (value === undefined || isBound(value)) return value;
    throw new TypeError(`${what}: "${keyword}" must be a valid bound, got ${inspectValue(value)}`);
  };
  const [least, most] = [bound(low), bound(high)];
  if (least !== undefined && most !== undefined && least > most) {
    throw new TypeError(`${what}: "${low}" must not exceed "${high}"`);
  }
  return [least, most];
}

function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
