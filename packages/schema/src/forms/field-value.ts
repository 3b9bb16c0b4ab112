/** Checks values against form fields. Defaults are checked when the form is defined. */
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type {
  ChoiceField,
  ChoicesField,
  FormField,
  NumberField,
  TextField,
  TextFormat,
} from '../../../../src/protocol/form.ts';
import { OutOfSteps, Steps, patternOf } from '../pattern.ts';

/** Step limit for matching one text, about 20 to 50 ms. */
const maxSteps = 1_000_000;

/** Creates the shared step budget for all patterns of an untrusted form. */
export const stepsForStranger = (): Steps => new Steps(maxSteps);

/**
 * Problem with a value, phrased to follow the field's name; undefined if valid.
 *
 * @param foreign step budget for the patterns of an untrusted form. A value that exhausts it
 *   passes, and the form's sender must check it. Without this budget such a value is invalid.
 */
export function validateFieldValue(
  field: FormField,
  value: unknown,
  foreign?: Steps,
): string | undefined {
  switch (field.kind) {
    case 'text':
      return validateText(field, value, foreign);
    case 'number':
    case 'integer':
      return validateNumber(field, value);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : mustBe('true or false', value);
    case 'choice':
      return validateChoice(field, value);
    case 'choices':
      return validateChoices(field, value);
  }
}

function mustBe(what: string, value: unknown): string {
  return `must be ${what}, got ${inspectValue(value)}`;
}

function validateText(
  { minLength = 0, maxLength = Infinity, pattern, format }: TextField,
  value: unknown,
  foreign: Steps | undefined,
): string | undefined {
  if (typeof value !== 'string') return mustBe('a string', value);
  const length = charactersOf(value);
  if (length < minLength) return `must have at least ${minLength} characters, got ${length}`;
  if (length > maxLength) return `must have at most ${maxLength} characters, got ${length}`;
  if (format !== undefined && !formats[format].matches(value)) {
    return mustBe(formats[format].what, value);
  }
  return pattern === undefined ? undefined : validatePattern(pattern, value, foreign);
}

/** Number of characters. JSON Schema counts those, not UTF-16 code units. */
export function charactersOf(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

function validatePattern(
  pattern: string,
  value: string,
  foreign: Steps | undefined,
): string | undefined {
  try {
    const steps = foreign ?? new Steps(maxSteps);
    if (patternOf(pattern, foreign).test(value, steps)) return undefined;
    return `must match ${pattern}, got ${inspectValue(value)}`;
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
    return foreign ? undefined : `is too long to match against ${pattern}`;
  }
}

const formats: {
  readonly [format in TextFormat]: { readonly what: string; matches(value: string): boolean };
} = {
  email: { what: 'an e-mail address', matches: (value) => /^[^\s@]+@[^\s@]+$/.test(value) },
  uri: { what: 'an absolute URI', matches: (value) => URL.canParse(value) },
  date: { what: 'a date such as 2025-11-25', matches: isDate },
  'date-time': { what: 'a date and time such as 2025-11-25T18:30:00Z', matches: isDateTime },
};

/** @see RFC 3339, section 5.6, "full-date" */
function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (year === undefined) return false;
  // Date rolls an invalid day over into the next month.
  const date = new Date(Date.UTC(2000, Number(month) - 1, Number(day)));
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.toISOString().slice(0, 10) === text;
}

/** @see RFC 3339, section 5.6, "date-time" */
function isDateTime(text: string): boolean {
  const shape =
    /^(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
  const [, date] = shape.exec(text) ?? [];
  return date !== undefined && isDate(date);
}

function validateNumber(
  { kind, minimum = -Infinity, maximum = Infinity }: NumberField,
  value: unknown,
): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return mustBe('a number', value);
  if (kind === 'integer' && !Number.isInteger(value)) return mustBe('an integer', value);
  if (value < minimum) return mustBe(`at least ${minimum}`, value);
  return value > maximum ? mustBe(`at most ${maximum}`, value) : undefined;
}

/** Maximum number of choices listed in a message. */
const maxNamed = 50;

function validateChoice({ options }: ChoiceField | ChoicesField, value: unknown) {
  if (options.some((option) => option.value === value)) return undefined;
  const named = options.slice(0, maxNamed).map((option) => inspectValue(option.value));
  const more = options.length > maxNamed ? `, and ${options.length - maxNamed} more` : '';
  return mustBe(`one of ${named.join(', ')}${more}`, value);
}

function validateChoices(field: ChoicesField, value: unknown): string | undefined {
  const { minItems = 0, maxItems = Infinity, options } = field;
  if (!Array.isArray(value)) return mustBe('a list of values', value);
  const items: readonly unknown[] = value;
  const { length } = items;
  if (length < minItems) return `must have at least ${minItems} values, got ${length}`;
  if (length > maxItems) return `must have at most ${maxItems} values, got ${length}`;
  const allowed = new Set<unknown>(options.map((option) => option.value));
  const wrong = items.findIndex((item) => !allowed.has(item));
  return wrong === -1 ? undefined : `has a value that ${validateChoice(field, items[wrong])}`;
}
