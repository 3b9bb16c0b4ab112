/**
 * JSON Schema validation for runtimes that make no code of text, as in workers and on pages with a strict
 * content security policy: schemas are interpreted, which is slower than what ajv makes of them.
 */
import { Validator } from '@cfworker/json-schema';
import type { OutputUnit, Schema } from '@cfworker/json-schema';
import { isJsonObject } from '../protocol/classify.ts';
import type { JsonSchema, SchemaSide } from './json-schema.ts';

/**
 * Prepares a schema. As with ajv, an `input` check fills in defaults, `format` only describes, and
 * members that are undefined are not there. The check says what is wrong with a value, or nothing.
 * Defaults behind a `$ref` are not filled in.
 */
export function interpret(
  schema: JsonSchema,
  side: SchemaSide,
): (value: unknown) => string | undefined {
  // A copy: the validator writes into it.
  const validator = new Validator(copyOf(schema) as Schema, '2020-12', false);
  const root = side === 'input' ? 'the arguments' : 'the result';
  return (value) => {
    if (side === 'input') fillIn(schema, value);
    const written: unknown = side === 'input' ? value : JSON.parse(JSON.stringify(value) ?? 'null');
    const { valid, errors } = validator.validate(written);
    if (valid) return undefined;
    const faults = errors.filter((error) => isFault(error, errors)).slice(0, 8);
    return faults.map((fault) => explain(fault, root)).join('; ');
  };
}

function isFault({ keyword, instanceLocation }: OutputUnit, all: readonly OutputUnit[]): boolean {
  if (keyword !== 'false') return !wrappers.has(keyword);
  // A property that is wrong in itself counts as one that must not be there.
  return !all.some(
    (other) =>
      other.keyword !== 'false' &&
      !wrappers.has(other.keyword) &&
      `${other.instanceLocation}/`.startsWith(`${instanceLocation}/`),
  );
}

/** Keywords that only say that something within is wrong, which says so itself. */
const wrappers = new Set([
  ...['$ref', 'allOf', 'then', 'else', 'dependentSchemas', 'propertyNames'],
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties'],
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems'],
]);

function explain({ instanceLocation, keyword, error }: OutputUnit, root: string): string {
  const keys = instanceLocation.split('/').slice(1).map(unescapePointer);
  const name = keyword === 'false' ? keys.pop() : undefined;
  const path = keys.length === 0 ? root : keys.join('.');
  if (name !== undefined) return `${path} must not have the property "${name}"`;
  return `${path}: ${error.replace(/^Instance /, '').replace(/\.$/, '')}`;
}

/** @see RFC 6901, section 6: a pointer in a URI fragment */
function unescapePointer(key: string): string {
  return decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Keywords whose members are named by the author, and those that hold values. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
const plain = new Set(['const', 'enum', 'default', 'examples']);

/** A schema without `format`. */
function copyOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(copyOf);
  if (!isJsonObject(schema)) return schema;
  const members = Object.entries(schema).filter(([keyword]) => keyword !== 'format');
  return Object.fromEntries(
    members.map(([keyword, given]) => {
      if (plain.has(keyword)) return [keyword, given];
      if (!named.has(keyword) || !isJsonObject(given)) return [keyword, copyOf(given)];
      const each = Object.entries(given).map(([name, within]) => [name, copyOf(within)]);
      return [keyword, Object.fromEntries(each)];
    }),
  );
}

function fillIn(schema: unknown, value: unknown): void {
  if (!isJsonObject(schema)) return;
  const { properties, items, prefixItems, allOf } = schema;
  if (Array.isArray(allOf)) for (const each of allOf) fillIn(each, value);
  if (Array.isArray(value)) {
    const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
    for (const [n, each] of value.entries()) fillIn(n < first.length ? first[n] : items, each);
  }
  if (!isJsonObject(properties) || !isJsonObject(value)) return;
  const filled: { [name: string]: unknown } = value;
  for (const [name, property] of Object.entries(properties)) {
    const isMissing = !Object.hasOwn(filled, name) || filled[name] === undefined;
    if (isMissing && isJsonObject(property) && 'default' in property) {
      filled[name] = structuredClone(property['default']);
    }
    if (Object.hasOwn(filled, name)) fillIn(property, filled[name]);
  }
}
