/**
 * Schemas as authors write them: a Standard Schema that can be converted to JSON Schema (zod,
 * valibot, arktype), or a JSON Schema as a value.
 *
 * @see https://standardschema.dev
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isThenable } from '../../../src/actors/exchange.ts';
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import type { FromSchema, JsonSchema, ObjectSchema, SchemaSide } from './json-schema.ts';
import { validatorOf } from './schema-check.ts';
import type { Checked } from './schema-run.ts';

/** A Standard Schema whose library converts it to JSON Schema. */
export type StandardSchema<TInput = unknown, TOutput = TInput> = StandardSchemaV1<TInput, TOutput> &
  StandardJSONSchemaV1<TInput, TOutput>;

/** A schema of objects: what tools take and give. */
export type Schema = ObjectSchema | StandardSchema;

/** The type of a value that has passed a schema. */
export type ParsedBy<TSchema> = TSchema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<TSchema>
  : FromSchema<TSchema>;

/** The type of what a schema accepts. */
export type AcceptedBy<TSchema> = TSchema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<TSchema>
  : FromSchema<TSchema, object>;

/** Checks a value. Gives a promise only if the author's library does. */
export type SchemaCheck = (value: unknown) => Checked | Promise<Checked>;

export function isStandardSchema(schema: object): schema is StandardSchema {
  return '~standard' in schema;
}

/** Converted schemas, so that listing tools converts nothing. */
const conversions = new WeakMap<Schema, Map<SchemaSide, ObjectSchema>>();

/**
 * The JSON Schema that a client sees.
 * @param what names the schema in messages
 * @throws {TypeError} the value is not a schema, does not describe objects, or cannot be converted
 */
export function jsonSchemaOf(schema: Schema, side: SchemaSide, what: string): ObjectSchema {
  // A schema may come from JavaScript.
  if (!isSchema(schema))
    throw new TypeError(`${what} must be a schema, got ${inspectValue(schema)}`);
  if (!isStandardSchema(schema)) {
    refuseRawShape(schema, what);
    return objectSchema(inKnownDialect(schema, what), what);
  }
  const known = conversions.get(schema) ?? new Map<SchemaSide, ObjectSchema>();
  const conversion =
    known.get(side) ?? objectSchema(convert(schema, side, what, strictOptions), what);
  conversions.set(schema, known.set(side, conversion));
  return conversion;
}

/**
 * The JSON Schema of what a schema accepts, in which any value stands for what has no JSON Schema,
 * such as a date: for those who read the members' names and descriptions from it.
 * @param what names the schema in messages
 * @throws {TypeError} it does not describe objects, or its library cannot convert it
 */
export function looseJsonSchemaOf(schema: StandardSchema, what: string): ObjectSchema {
  return objectSchema(convert(schema, 'input', what, looseOptions), what);
}

/** @throws {TypeError} it is an object of a library's schemas, as the official SDK takes it */
function refuseRawShape(schema: JsonSchema, what: string): void {
  const [first] = Object.entries(schema);
  const member = first?.[1];
  const isSchemaOfLibrary =
    (isJsonObject(member) || typeof member === 'function') && isStandardSchema(member);
  if (!first || !isSchemaOfLibrary) return;
  const { vendor } = member['~standard'];
  const wrapper = { zod: 'z.object', valibot: 'v.object', arktype: 'type' }[vendor];
  throw new TypeError(
    `${what} is an object of schemas, "${first[0]}" the first of them: wrap it in ${wrapper ?? `an object schema of ${vendor}`}, as in ${wrapper ?? 'object'}({ ${first[0]}: … })`,
  );
}

type LibraryOptions = { readonly [vendor: string]: { readonly [option: string]: unknown } };

/** Custom checks have no JSON Schema. zod and arktype leave them out; valibot has to be told to. */
const strictOptions: LibraryOptions = {
  valibot: { ignoreActions: ['check', 'check_items', 'partial_check', 'raw_check'] },
};

const looseOptions: LibraryOptions = {
  valibot: { errorMode: 'ignore' },
  zod: { unrepresentable: 'any' },
};

function isSchema(schema: unknown): schema is Schema {
  return isJsonObject(schema) || typeof schema === 'function';
}

function convert(
  schema: StandardSchema,
  side: SchemaSide,
  what: string,
  optionsOf: LibraryOptions,
): JsonSchema {
  // A library without a converter has no `jsonSchema`, whatever the type says.
  const { vendor, jsonSchema }: Partial<StandardSchema['~standard']> = schema['~standard'];
  if (!jsonSchema) {
    const hint =
      vendor === 'valibot' ? ': wrap it in toStandardJsonSchema of @valibot/to-json-schema' : '';
    throw new TypeError(`${what} is a schema of ${vendor} that cannot tell its JSON Schema${hint}`);
  }
  try {
    const libraryOptions = { ...optionsOf[String(vendor)] };
    return jsonSchema[side]({ target: 'draft-2020-12', libraryOptions });
  } catch (cause) {
    const message = `${what} has no JSON Schema for its ${side}: ${textOfError(cause)}`;
    throw new TypeError(message, { cause });
  }
}

/**
 * Refuses other dialects: read as 2020-12, such a schema would mean something else.
 *
 * @see MCP 2025-11-25, basic, "JSON Schema Usage"
 */
function inKnownDialect(schema: ObjectSchema, what: string): ObjectSchema {
  const uri = schema['$schema'];
  if (uri === undefined) return schema;
  if (typeof uri === 'string' && uri.replace(/#$/, '') === dialect2020) return schema;
  throw new TypeError(
    `${what} is written in the dialect ${inspectValue(uri)}, which is not supported; the one that is is "${dialect2020}"`,
  );
}

const dialect2020 = 'https://json-schema.org/draft/2020-12/schema';

/** @see MCP 2025-11-25, schema, "Tool": the root of both schemas has `type: "object"` */
function objectSchema(schema: JsonSchema, what: string): ObjectSchema {
  if (isObjectSchema(schema)) return schema;
  if (describesObjects(schema)) return { type: 'object', ...schema };
  const target = rootTarget(schema);
  if (describesObjects(target)) return inlined(schema, target as JsonSchema);
  const text = JSON.stringify(schema).slice(0, 200);
  throw new TypeError(`${what} must describe objects ("type": "object"), this is ${text}`);
}

/** The schema to which the root refers, within itself: zod gives it for a schema with an id. */
function rootTarget(schema: JsonSchema): unknown {
  const reference = schema['$ref'];
  const [, name] = /^#\/\$defs\/([^/%~]+)$/.exec(String(reference)) ?? [];
  const definitions = schema['$defs'];
  return name !== undefined && isJsonObject(definitions) && Object.hasOwn(definitions, name)
    ? definitions[name]
    : undefined;
}

/** Hosts read properties from the root. A target with an id of its own has another base for references. */
function inlined({ $ref, ...root }: JsonSchema, target: JsonSchema): ObjectSchema {
  const isShared = Object.keys(target).some((key) => key.startsWith('$') || key in root);
  return { type: 'object', ...(isShared ? { $ref } : target), ...root };
}

function isObjectSchema(schema: JsonSchema): schema is ObjectSchema {
  return schema['type'] === 'object';
}

/** Also true for a union or an intersection of objects, whose root has no type of its own. */
function describesObjects(schema: unknown): boolean {
  if (!isJsonObject(schema)) return false;
  const { type, anyOf, oneOf, allOf } = schema;
  if (type !== undefined) return type === 'object';
  const isUnion = [anyOf, oneOf].some(
    (members) => Array.isArray(members) && members.length > 0 && members.every(describesObjects),
  );
  return isUnion || (Array.isArray(allOf) && allOf.some(describesObjects));
}

/**
 * The check of a schema: its library's, or ours for a JSON Schema.
 * @param what names the schema in messages
 * @throws {TypeError} it is not a JSON Schema; the message says at which place, and why
 */
export function checkOf(schema: Schema, side: SchemaSide, what: string): SchemaCheck {
  if (isStandardSchema(schema)) return libraryCheckOf(schema);
  try {
    return validatorOf(schema, side);
  } catch (cause) {
    throw new TypeError(`${what} is not a JSON Schema: ${(cause as Error).message}`, { cause });
  }
}

/** The check of a schema's own library. */
export function libraryCheckOf(schema: StandardSchema): SchemaCheck {
  return (value) => {
    const result = schema['~standard'].validate(value);
    return isThenable(result) ? Promise.resolve(result).then(readResult) : readResult(result);
  };
}

function readResult(result: StandardSchemaV1.Result<unknown>): Checked {
  if (!result.issues) return { ok: true, value: result.value };
  return { ok: false, fault: result.issues.slice(0, 8).map(explain).join('; ') };
}

function explain({ path, message }: StandardSchemaV1.Issue): string {
  const keys = (path ?? []).map((step) => String(isJsonObject(step) ? step['key'] : step));
  const place = keys.join('.');
  // Some libraries put the place into the message themselves.
  return place === '' || message.startsWith(place) ? message : `${place}: ${message}`;
}
