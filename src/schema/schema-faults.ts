/**
 * What is wrong with a JSON Schema, as far as the shapes of its keywords tell it: said at the line
 * that defines a tool, without loading ajv. What only a compiler finds, such as a `$ref` to nowhere,
 * is found at the first call.
 *
 * @see JSON Schema 2020-12, "A Vocabulary for Structural Validation"
 */
import { describe, isJsonObject } from '../protocol/classify.ts';

const types = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

type Fault = string | undefined;
type KeywordCheck = (value: unknown, at: string, above: readonly unknown[]) => Fault;

const schema: KeywordCheck = (value, at, above) => {
  if (typeof value === 'boolean') return undefined;
  if (!isJsonObject(value)) return `${at} must be a schema, this is ${describe(value)}`;
  // The caller's compiler refuses a cycle; here it must only end.
  if (above.includes(value)) return undefined;
  for (const [keyword, part] of Object.entries(value)) {
    if (part === undefined || !Object.hasOwn(keywords, keyword)) continue;
    const fault = keywords[keyword]?.(part, `${at}/${keyword}`, [...above, value]);
    if (fault !== undefined) return fault;
  }
  return undefined;
};

const schemasByName: KeywordCheck = (value, at, above) => {
  if (!isJsonObject(value)) return `${at} must be an object of schemas, this is ${describe(value)}`;
  return first(Object.entries(value), ([name, part]) => schema(part, `${at}/${name}`, above));
};

const schemaList: KeywordCheck = (value, at, above) => {
  if (!Array.isArray(value) || value.length === 0) {
    return `${at} must be a list of schemas, this is ${describe(value)}`;
  }
  return first([...value.entries()], ([place, part]) => schema(part, `${at}/${place}`, above));
};

const type: KeywordCheck = (value, at) => {
  const named: readonly unknown[] = Array.isArray(value) ? value : [value];
  return first(named, (name) =>
    types.some((known) => known === name)
      ? undefined
      : `${at} must be one of ${types.join(', ')}; this is ${describe(name)}`,
  );
};

const names: KeywordCheck = (value, at) =>
  Array.isArray(value) && value.every((name) => typeof name === 'string')
    ? undefined
    : `${at} must be a list of names, this is ${describe(value)}`;

const list: KeywordCheck = (value, at) =>
  Array.isArray(value) ? undefined : `${at} must be a list, this is ${describe(value)}`;

const number: KeywordCheck = (value, at) =>
  typeof value === 'number' ? undefined : `${at} must be a number, this is ${describe(value)}`;

const keywords: { readonly [keyword: string]: KeywordCheck } = {
  type,
  required: names,
  enum: list,
  properties: schemasByName,
  patternProperties: schemasByName,
  $defs: schemasByName,
  allOf: schemaList,
  anyOf: schemaList,
  oneOf: schemaList,
  prefixItems: schemaList,
  items: schema,
  additionalProperties: schema,
  not: schema,
  ...Object.fromEntries(
    ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'multipleOf'].map(
      (keyword) => [keyword, number],
    ),
  ),
};

function first<T>(items: readonly T[], faultOf: (item: T) => Fault): Fault {
  for (const item of items) {
    const fault = faultOf(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The first fault, with its place; undefined if there is none. */
export function faultOfSchema(value: unknown): Fault {
  return schema(value, '#', []);
}
