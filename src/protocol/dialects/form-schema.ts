/**
 * Forms as JSON Schema.
 *
 * 2025-06-18 supports strings, numbers, integers, booleans and enums with `enumNames`; only
 * booleans have defaults. Titled choices are converted to `enumNames`, and other defaults are
 * omitted, because they are only hints. Unsupported fields are an error.
 *
 * @see MCP 2025-06-18, client/elicitation, "Supported Schema Types"
 * @see MCP 2025-11-25, client/elicitation, "Requested Schema"
 */
import { RuntimeError } from '../errors.ts';
import type { ChoiceField, FormDescription, FormField, TextField } from '../form.ts';
import type { JsonObject } from '../frames.ts';

/** The `requestedSchema` of a form. */
export function richForm(form: FormDescription): JsonObject {
  return formSchema(form, describeField);
}

/**
 * The `requestedSchema` of a form in 2025-06-18.
 *
 * @throws {RuntimeError} CAPABILITY_MISSING if the revision does not support a field
 */
export function plainForm(form: FormDescription, version: string): JsonObject {
  return formSchema(form, (field) => describePlain(field, version));
}

function formSchema(
  { fields, required }: FormDescription,
  describe: (field: FormField) => JsonObject,
): JsonObject {
  const properties = fields.map((field) => [field.name, known(describe(field))]);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as JsonObject,
    ...(required.length > 0 ? { required } : {}),
  };
}

function describeField(field: FormField): JsonObject {
  const { title, description, default: given } = field;
  const label = { title, description };
  switch (field.kind) {
    case 'text':
      return { type: 'string', ...label, ...describeText(field), default: given };
    case 'choice':
      return { type: 'string', ...label, ...describeChoice(field), default: given };
    case 'choices': {
      const { minItems, maxItems, options, style } = field;
      const items =
        style === 'titled'
          ? { anyOf: options.map(titled) }
          : { type: 'string', enum: options.map(({ value }) => value) };
      return { type: 'array', ...label, minItems, maxItems, items, default: given };
    }
    case 'boolean':
      return { type: 'boolean', ...label, default: given };
    default: {
      const { kind, minimum, maximum } = field;
      return { type: kind, ...label, minimum, maximum, default: given };
    }
  }
}

/** Omits the pattern if there is a format: libraries write both, and the format implies it. */
function describeText({ minLength, maxLength, format, pattern }: TextField): JsonObject {
  return { minLength, maxLength, format, ...(format === undefined ? { pattern } : {}) };
}

function describeChoice({ style, options }: ChoiceField): JsonObject {
  if (style === 'titled') return { oneOf: options.map(titled) };
  return {
    enum: options.map(({ value }) => value),
    ...(style === 'legacy' ? { enumNames: options.map(({ title }) => title) } : {}),
  };
}

function titled({
  value,
  title = value,
}: {
  readonly value: string;
  readonly title?: string | undefined;
}) {
  return { const: value, title };
}

function describePlain(field: FormField, version: string): JsonObject {
  switch (field.kind) {
    case 'choices': {
      const message = `The form's property "${field.name}" allows several values, which revision ${version} does not support; nothing was sent`;
      throw new RuntimeError('CAPABILITY_MISSING', message);
    }
    case 'choice': {
      const style = field.style === 'titled' ? 'legacy' : field.style;
      const options = field.options.map(({ value, title = value }) => ({ value, title }));
      return describeField({ ...field, style, options, default: undefined });
    }
    case 'text':
      return describeField({ ...field, pattern: undefined, default: undefined });
    case 'boolean':
      return describeField(field);
    default:
      return describeField({ ...field, default: undefined });
  }
}

/** Drops undefined members, which JSON would also drop, to simplify comparisons. */
function known(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
