/**
 * Schemas of authors: a Standard Schema that converts to JSON Schema (zod, valibot, arktype), or a
 * JSON Schema literal.
 *
 * @see https://standardschema.dev
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isThenable } from '../../../src/actors/request-context.ts';
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import type { FromSchema, JsonSchema, ObjectSchema, SchemaSide } from './json-schema.ts';
import { validatorOf } from './schema-check.ts';
import type { Checked } from './schema-run.ts';

/** A Standard Schema with a conversion to JSON Schema. */
export type StandardSchema<TInput = unknown, TOutput = TInput> = StandardSchemaV1<TInput, TOutput> &
  StandardJSONSchemaV1<TInput, TOutput>;

/** A schema of objects, for the input and output of tools. */
export type Schema = ObjectSchema | StandardSchema;

/** Output type of a schema. */
export type ParsedBy<TSchema> = TSchema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<TSchema>
  : FromSchema<TSchema>;

/** Input type of a schema. */
export type AcceptedBy<TSchema> = TSchema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<TSchema>
  : FromSchema<TSchema, object>;

/** Validates a value. Returns a promise only if the author's library does. */
export type SchemaCheck = (value: unknown) => Checked | Promise<Checked>;

export function isStandardSchema(schema: object): schema is StandardSchema {
  return '~standard' in schema;
}

/** Cache of conversions, so that tools/list converts nothing. */
const conversions = new WeakMap<Schema, Map<SchemaSide, ObjectSchema>>();

/**
 * Converts a schema to the JSON Schema sent to clients.
 *
 * @param what name of the schema in messages
 * @throws {TypeError} if the value is not a schema, does not describe objects, or cannot be
 *   converted
 */
export function jsonSchemaOf(schema: Schema, side: SchemaSide, what: string): ObjectSchema {
  // JavaScript callers may pass anything.
  if (!isSchema(schema))
    throw new TypeError(`${what} must be a schema, got ${inspectValue(schema)}`);
  if (!isStandardSchema(schema)) {
    assertNoRawShape(schema, what);
    return objectSchema(assertDialect(schema, what), what);
  }
  const known = conversions.get(schema) ?? new Map<SchemaSide, ObjectSchema>();
  const conversion =
    known.get(side) ?? objectSchema(convert(schema, side, what, strictOptions), what);
  conversions.set(schema, known.set(side, conversion));
  return conversion;
}

/**
 * Converts the input side of a schema, with types that JSON Schema lacks (such as dates) as "any
 * value". Meant for reading the names and descriptions of members.
 *
 * @param what name of the schema in messages
 * @throws {TypeError} if it does not describe objects or its library cannot convert it
 */
export function looseJsonSchemaOf(schema: StandardSchema, what: string): ObjectSchema {
  return objectSchema(convert(schema, 'input', what, looseOptions), what);
}

/**
 * Rejects an object of library schemas, as the official SDK accepts.
 *
 * @throws {TypeError} naming the wrapper to use
 */
function assertNoRawShape(schema: JsonSchema, what: string): void {
  const [first] = Object.entries(schema);
  const member = first?.[1];
  const isSchemaOfLibrary =
    (isJsonObject(member) || typeof member === 'function') && isStandardSchema(member);
  if (!first || !isSchemaOfLibrary) return;
  const { vendor } = member['~standard'];
  const wrapper = { zod: 'z.object', valibot: 'v.object', arktype: 'type' }[vendor];
  throw new TypeError(
    `${what} must be a schema, got an object of schemas: wrap it in ${wrapper ?? `an object schema of ${vendor}`}, as in ${wrapper ?? 'object'}({ ${first[0]}: … })`,
  );
}

type LibraryOptions = { readonly [vendor: string]: { readonly [option: string]: unknown } };

/**
 * JSON Schema cannot express custom checks. zod and arktype omit them; valibot needs these options.
 */
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
  // A library without a converter has no `jsonSchema`, despite its type.
  const { vendor, jsonSchema }: Partial<StandardSchema['~standard']> = schema['~standard'];
  if (!jsonSchema) {
    const hint =
      vendor === 'valibot' ? ': wrap it in toStandardJsonSchema of @valibot/to-json-schema' : '';
    throw new TypeError(
      `${what} is a schema of ${vendor} that cannot be converted to JSON Schema${hint}`,
    );
  }
  try {
    const libraryOptions = { ...optionsOf[String(vendor)] };
    return jsonSchema[side]({ target: 'draft-2020-12', libraryOptions });
  } catch (cause) {
    const message = `${what} cannot be converted to JSON Schema (${side}): ${textOfError(cause)}`;
    throw new TypeError(message, { cause });
  }
}

/**
 * Rejects other dialects, because interpreting them as 2020-12 would change their meaning.
 *
 * @see MCP 2025-11-25, basic, "JSON Schema Usage"
 */
function assertDialect(schema: ObjectSchema, what: string): ObjectSchema {
  const uri = schema['$schema'];
  if (uri === undefined) return schema;
  if (typeof uri === 'string' && uri.replace(/#$/, '') === dialect2020) return schema;
  throw new TypeError(`${what} must use the dialect "${dialect2020}", got ${inspectValue(uri)}`);
}

const dialect2020 = 'https://json-schema.org/draft/2020-12/schema';

/** @see MCP 2025-11-25, schema, "Tool": the root of both schemas has `type: "object"` */
function objectSchema(schema: JsonSchema, what: string): ObjectSchema {
  if (isObjectSchema(schema)) return schema;
  if (describesObjects(schema)) return { type: 'object', ...schema };
  const target = rootTarget(schema);
  if (describesObjects(target)) return inlined(schema, target as JsonSchema);
  const text = JSON.stringify(schema).slice(0, 200);
  throw new TypeError(`${what} must describe objects ("type": "object"), got ${text}`);
}

/** Target of the root's `$ref`, which zod generates for a schema with an id. */
function rootTarget(schema: JsonSchema): unknown {
  const reference = schema['$ref'];
  const [, name] = /^#\/\$defs\/([^/%~]+)$/.exec(String(reference)) ?? [];
  const definitions = schema['$defs'];
  return name !== undefined && isJsonObject(definitions) && Object.hasOwn(definitions, name)
    ? definitions[name]
    : undefined;
}

/**
 * Inlines the target, because hosts read properties from the root. A target with its own `$id`
 * stays referenced, because it has another base URI.
 */
function inlined({ $ref, ...root }: JsonSchema, target: JsonSchema): ObjectSchema {
  const isShared = Object.keys(target).some((key) => key.startsWith('$') || key in root);
  return { type: 'object', ...(isShared ? { $ref } : target), ...root };
}

function isObjectSchema(schema: JsonSchema): schema is ObjectSchema {
  return schema['type'] === 'object';
}

/**
 * True for object types, including unions and intersections of objects without a type at the root.
 */
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
 * Creates the validator of a schema: that of its library, or ours for JSON Schema.
 *
 * @param what name of the schema in messages
 * @throws {TypeError} if it is not a valid JSON Schema, with location and reason
 */
export function checkOf(schema: Schema, side: SchemaSide, what: string): SchemaCheck {
  if (isStandardSchema(schema)) return libraryCheckOf(schema);
  try {
    return validatorOf(schema, side);
  } catch (cause) {
    throw new TypeError(`${what} is not a JSON Schema: ${(cause as Error).message}`, { cause });
  }
}

/** Creates a validator that uses the schema's library. */
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
  // Some libraries include the path in the message.
  return place === '' || message.startsWith(place) ? message : `${place}: ${message}`;
}
