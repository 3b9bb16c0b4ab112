/**
 * Forms as JSON Schema, as clients know them.
 *
 * 2025-06-18 has the types string, number, integer, boolean and an enum with `enumNames`; only its boolean has a default. Titled choices are
 * written in its way and defaults are left out, because they are hints; what it cannot ask at all is refused.
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
 * The `requestedSchema` of a form in the words of 2025-06-18.
 *
 * @throws {RuntimeError} CAPABILITY_MISSING for a field that the revision does not know
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

/** A format says already what its pattern would; libraries write both. */
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
      const message = `The form's property "${field.name}" lets several values be chosen, which revision ${version} has not; nothing was sent`;
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

/** Without what is not said: JSON would leave it out too, but whoever compares need not know. */
function known(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
