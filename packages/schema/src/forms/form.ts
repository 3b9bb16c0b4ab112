/**
 * Forms for a person to fill in, as authors write them: a Standard Schema or a JSON Schema as a
 * value, within what the protocol allows in a form.
 *
 * @see MCP 2025-11-25, client/elicitation, "Form Mode Elicitation Requests"
 */
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

/** A value to choose, and the title that a person sees for it. */
export interface TitledConstant {
  /** The value. */
  readonly const: string;
  /** What people see of it. */
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
      /** Titles in the older way; new forms use `oneOf`. */
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

/** A form as a JSON Schema: a flat object. */
export type FormSchema = {
  /** Forms are flat objects. */
  readonly type: 'object';
  /** The fields by name, in the order in which they are shown. */
  readonly properties: { readonly [name: string]: FormProperty };
  /** The fields that have to be filled in; by default none. */
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

/** A schema that a form is made from. */
export type FormSource = FormSchema | StandardSchema;

/** What a person has filled in, after the form has checked it. */
export type ContentOf<TSource> =
  TSource extends Form<infer TContent>
    ? TContent
    : TSource extends StandardSchemaV1
      ? StandardSchemaV1.InferOutput<TSource>
      : TSource extends FormSchema
        ? FormValues<TSource>
        : never;

/** A form whose schema has been checked. Made by {@link defineForm}. */
export class Form<TContent> {
  readonly #description: FormDescription;
  readonly #check: (content: JsonObject) => ReturnType<SchemaCheck>;

  /** @throws {TypeError} see {@link defineForm} */
  constructor(source: FormSource) {
    const isStandard = isStandardSchema(source);
    const schema = isStandard ? jsonSchemaOf(source, 'input', 'A form') : source;
    const description = readForm(schema);
    this.#description = description;
    this.#check = isStandard
      ? checkOf(source, 'input', 'A form')
      : (content) => checkContent(description, content);
  }

  /** The fields that it asks for. */
  get description(): FormDescription {
    return this.#description;
  }

  /**
   * Reads the filled-in form that a client has sent.
   *
   * @throws {RuntimeError} INVALID_RESPONSE saying what is wrong
   */
  async read(content: JsonObject): Promise<TContent> {
    const checked = await this.#check(content);
    if (checked.ok) return checked.value as TContent;
    const message = `The client accepted the form, but its content does not conform: ${checked.fault}`;
    throw new RuntimeError('INVALID_RESPONSE', message);
  }
}

/** Checks the values of the form's fields, and leaves out everything else. */
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
 * Defines a form. Use it in any number of `context.elicit({ message, schema: form })`.
 *
 * Forms are flat objects of strings (`email`, `uri`, `date`, `date-time`), numbers, integers,
 * booleans, and choices of strings. A form must not ask for secrets: use `context.elicitUrl` for
 * those.
 *
 * @throws {TypeError} naming the property that the protocol does not allow in a form, and why
 * @see MCP 2025-11-25, client/elicitation, "Requested Schema"
 */
export function defineForm<const TSource extends FormSource>(
  source: TSource,
): Form<ContentOf<TSource>> {
  const known = forms.get(source) ?? new Form<unknown>(source);
  forms.set(source, known);
  return known as Form<ContentOf<TSource>>;
}
