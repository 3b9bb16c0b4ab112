/**
 * Schemas as authors write them: any Standard Schema that can tell its JSON Schema (zod, valibot, arktype), or a JSON Schema as a value.
 *
 * @see https://standardschema.dev
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isJsonObject } from '../protocol/classify.ts';
import type { FromSchema, JsonSchema, ObjectSchema } from './json-schema.ts';
import type { SchemaCompiler } from './validation.ts';

/** A Standard Schema with the converter of its own library. */
export type StandardSchema<TInput = unknown, TOutput = TInput> = StandardSchemaV1<TInput, TOutput> &
  StandardJSONSchemaV1<TInput, TOutput>;

/** A schema of objects: what tools take and give. */
export type Schema = ObjectSchema | StandardSchema;

/** The type of what has passed a schema. */
export type ParsedBy<TSchema> = TSchema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<TSchema>
  : FromSchema<TSchema>;

/** The type of what a schema accepts. */
export type AcceptedBy<TSchema> = TSchema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<TSchema>
  : FromSchema<TSchema, object>;

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  /** For a person: what is wrong, where. */
  | { readonly ok: false; readonly fault: string };

/** A schema's check. A promise only where the author's library gives one. */
export type SchemaCheck = (value: unknown) => Checked | Promise<Checked>;

export function isStandardSchema(schema: Schema): schema is StandardSchema {
  return '~standard' in schema;
}

/**
 * The JSON Schema that a client sees.
 * @param side what is accepted (`input`) or what is given (`output`): they differ where a schema transforms
 * @throws {TypeError} a Standard Schema whose values are no objects, or whose library cannot convert it
 */
export function jsonSchemaOf(schema: Schema, side: 'input' | 'output'): ObjectSchema {
  if (!isStandardSchema(schema)) return schema;
  const converted: JsonSchema = schema['~standard'].jsonSchema[side]({ target: 'draft-2020-12' });
  if (isObjectSchema(converted)) return converted;
  throw new TypeError(`A tool's schema describes objects; this one describes ${JSON.stringify(converted)}`);
}

function isObjectSchema(schema: JsonSchema): schema is ObjectSchema {
  return schema['type'] === 'object';
}

/** The check of a schema: its library's own, or ajv's. */
export function checkOf(schema: Schema, compiler: SchemaCompiler): SchemaCheck {
  if (!isStandardSchema(schema)) {
    const check = compiler.compile(schema);
    return (value) => {
      const fault = check(value);
      return fault === undefined ? { ok: true, value } : { ok: false, fault };
    };
  }
  const { validate } = schema['~standard'];
  return (value) => {
    const result = validate(value);
    return result instanceof Promise ? result.then(readResult) : readResult(result);
  };
}

function readResult(result: StandardSchemaV1.Result<unknown>): Checked {
  if (!result.issues) return { ok: true, value: result.value };
  return { ok: false, fault: result.issues.slice(0, 8).map(explain).join('; ') };
}

function explain({ path, message }: StandardSchemaV1.Issue): string {
  const keys = (path ?? []).map((step) => String(isJsonObject(step) ? step['key'] : step));
  return keys.length > 0 ? `${keys.join('.')}: ${message}` : message;
}
