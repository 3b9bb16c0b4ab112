/**
 * Forms for people to fill in, defined by a Standard Schema or a JSON Schema literal within the
 * limits of the protocol.
 *
 * @see MCP 2025-11-25, client/elicitation, "Form Mode Elicitation Requests"
 */
import { withAuthorStack } from '../../../../src/protocol/author-stack.ts';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { FormDescription, TextFormat } from '../../../../src/protocol/form.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { RequiredOf } from '../json-schema.ts';
import { checkOf, isStandardSchema, jsonSchemaOf } from '../schema.ts';
import type { SchemaCheck, StandardSchema } from '../schema.ts';
import { validateFieldValue } from './field-value.ts';
import { readForm } from './read-form.ts';

interface Labels {
  readonly title?: string;
  readonly description?: string;
}

/** A choice with its title for people. */
export interface TitledConstant {
  /** Value that the form returns. */
  readonly const: string;
  /** Title shown to people. */
  readonly title: string;
}

/** A property of a form. */
export type FormProperty =
  | (Labels & {
      readonly type: 'string';
      readonly minLength?: number;
      readonly maxLength?: number;
      readonly pattern?: string;
      readonly format?: TextFormat;
      readonly default?: string;
    })
  | (Labels & {
      readonly type: 'number' | 'integer';
      readonly minimum?: number;
      readonly maximum?: number;
      readonly default?: number;
    })
  | (Labels & { readonly type: 'boolean'; readonly default?: boolean })
  | (Labels & {
      readonly type: 'string';
      readonly enum: readonly string[];
      /** Legacy titles; new forms use `oneOf`. */
      readonly enumNames?: readonly string[];
      readonly default?: string;
    })
  | (Labels & {
      readonly type: 'string';
      readonly oneOf: readonly TitledConstant[];
      readonly default?: string;
    })
  | (Labels & {
      readonly type: 'array';
      readonly items:
        | { readonly type: 'string'; readonly enum: readonly string[] }
        | { readonly anyOf: readonly TitledConstant[] };
      readonly minItems?: number;
      readonly maxItems?: number;
      readonly default?: readonly string[];
    });

/** A form as a JSON Schema of a flat object. */
export type FormSchema = {
  /** Always `object`. */
  readonly type: 'object';
  /** Fields by name, in display order. */
  readonly properties: { readonly [name: string]: FormProperty };
  /** Names of required fields. Default: none. */
  readonly required?: readonly string[];
};

type ValueOf<TProperty> = TProperty extends { readonly enum: readonly (infer TValue)[] }
  ? TValue
  : TProperty extends { readonly oneOf: readonly { readonly const: infer TValue }[] }
    ? TValue
    : TProperty extends { readonly items: { readonly enum: readonly (infer TValue)[] } }
      ? readonly TValue[]
      : TProperty extends {
            readonly items: { readonly anyOf: readonly { readonly const: infer TValue }[] };
          }
        ? readonly TValue[]
        : TProperty extends { readonly type: 'boolean' }
          ? boolean
          : TProperty extends { readonly type: 'number' | 'integer' }
            ? number
            : string;

type FormValues<TSchema extends FormSchema> = {
  readonly [K in keyof TSchema['properties'] as K extends RequiredOf<TSchema> ? K : never]: ValueOf<
    TSchema['properties'][K]
  >;
} & {
  readonly [
    K in keyof TSchema['properties'] as K extends RequiredOf<TSchema> ? never : K
  ]?: ValueOf<TSchema['properties'][K]>;
};

/** Source of a form. */
export type FormSource = FormSchema | StandardSchema;

/** Type of a form's checked content. */
export type ContentOf<TSource> =
  TSource extends Form<infer TContent>
    ? TContent
    : TSource extends StandardSchemaV1
      ? StandardSchemaV1.InferOutput<TSource>
      : TSource extends FormSchema
        ? FormValues<TSource>
        : never;

/** A form with a valid schema. Created by {@link defineForm}. */
export class Form<TContent> {
  readonly #description: FormDescription;
  readonly #check: (content: JsonObject) => ReturnType<SchemaCheck>;

  /** @throws {TypeError} see {@link defineForm} */
  constructor(source: FormSource) {
    if (Object(source) !== source) {
      throw new TypeError(
        `A form must have a schema, got ${inspectValue(source)}: pass { message, schema } to elicit`,
      );
    }
    const isStandard = isStandardSchema(source);
    const schema = isStandard ? jsonSchemaOf(source, 'input', 'A form') : source;
    const description = readForm(schema);
    this.#description = description;
    this.#check = isStandard
      ? checkOf(source, 'input', 'A form')
      : (content) => checkContent(description, content);
  }

  /** Fields of the form. */
  get description(): FormDescription {
    return this.#description;
  }

  /**
   * Checks the content that a client sent.
   *
   * @throws {RuntimeError} INVALID_RESPONSE, naming the problems
   */
  async read(content: JsonObject): Promise<TContent> {
    const checked = await this.#check(content);
    if (checked.ok) return checked.value as TContent;
    const message = `The client accepted the form, but its content is invalid: ${checked.fault}`;
    throw new RuntimeError('INVALID_RESPONSE', message);
  }
}

/** Checks the values of the form's fields and drops all other members. */
function checkContent({ fields, required }: FormDescription, content: JsonObject) {
  const faults: string[] = [];
  const values: [name: string, value: unknown][] = [];
  for (const field of fields) {
    const { name } = field;
    if (!Object.hasOwn(content, name)) {
      if (required.includes(name)) faults.push(`${inspectValue(name)} is missing`);
      continue;
    }
    const fault = validateFieldValue(field, content[name]);
    if (fault !== undefined) faults.push(`${inspectValue(name)} ${fault}`);
    values.push([name, content[name]]);
  }
  if (faults.length === 0) return { ok: true, value: Object.fromEntries(values) } as const;
  return { ok: false, fault: faults.slice(0, 8).join('; ') } as const;
}

const forms = new WeakMap<FormSource, Form<unknown>>();

/**
 * Defines a form, for any number of `context.elicit({ message, schema: form })` calls.
 *
 * Forms are flat objects of strings (`email`, `uri`, `date`, `date-time`), numbers, integers,
 * booleans, and choices of strings. A form must not ask for secrets: use `context.elicitUrl`.
 *
 * @throws {TypeError} naming the property that the protocol does not allow in a form, and the
 *   reason
 * @see MCP 2025-11-25, client/elicitation, "Requested Schema"
 */
export function defineForm<const TSource extends FormSource>(
  source: TSource,
): Form<ContentOf<TSource>> {
  return withAuthorStack(defineForm, () => formOf(source)) as Form<ContentOf<TSource>>;
}

/** The form of a schema, created once. @throws {TypeError} see {@link defineForm} */
export function formOf(source: FormSource): Form<unknown> {
  const known = forms.get(source) ?? new Form<unknown>(source);
  forms.set(source, known);
  return known;
}
