/**
 * Validation keywords of JSON Schema. Keywords that apply subschemas are in `schema-run.ts` and
 * `schema-check.ts`.
 *
 * @see JSON Schema 2020-12 Validation, section 6, "A Vocabulary for Structural Validation"
 */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import { charactersOf } from './forms/field-value.ts';
import { patternAt } from './pattern.ts';
import type { Budget } from './pattern.ts';
import { dependentRequired, namesOf, required } from './schema-run.ts';
import type { MakeCheck } from './schema-run.ts';

function numberAt(given: unknown, at: string): number {
  if (typeof given === 'number') return given;
  throw new TypeError(`${at} must be a number, got ${inspectValue(given)}`);
}

/** Creates a keyword that compares numbers. */
const numeric =
  (words: string, holds: (value: number, bound: number) => boolean): MakeCheck =>
  (given, at) => {
    const bound = numberAt(given, at);
    return (value, run) =>
      typeof value !== 'number' ||
      holds(value, bound) ||
      run.fault(() => `must be ${words} ${bound}`);
  };

/** Creates a keyword that limits a size. */
function size(
  which: 'fewer' | 'more',
  unit: string,
  sizeOf: (value: unknown, bound: number) => number | undefined,
): MakeCheck {
  return (given, at) => {
    const bound = numberAt(given, at);
    return (value, run) => {
      const actual = sizeOf(value, bound);
      if (actual === undefined) return true;
      const isWithin = which === 'more' ? actual <= bound : actual >= bound;
      return isWithin || run.fault(() => `must NOT have ${which} than ${bound} ${unit}`);
    };
  };
}

/**
 * Counts characters only if that decides: a text has at least half as many characters as code
 * units.
 */
const lengthOf = (value: unknown, bound: number): number | undefined => {
  if (typeof value !== 'string') return undefined;
  const { length } = value;
  return length < bound || length / 2 > bound ? length : charactersOf(value);
};
const itemsOf = (value: unknown): number | undefined =>
  Array.isArray(value) ? value.length : undefined;
const propertiesOf = (value: unknown): number | undefined =>
  isJsonObject(value) ? namesOf(value).length : undefined;

const pattern: MakeCheck = (given, at) => {
  const expression = patternAt(given, at);
  return (value, run) =>
    typeof value !== 'string' ||
    expression.test(value, run) ||
    run.fault(() => `must match pattern "${String(given)}"`);
};

const uniqueItems: MakeCheck = (given) => (value, run) => {
  if (given !== true || !Array.isArray(value)) return true;
  const met = new Map<string, number>();
  for (const [at, item] of value.entries()) {
    const text = canonical(item, run);
    const first = met.get(text);
    if (first !== undefined) {
      return run.fault(
        () => `must NOT have duplicate items (items ## ${first} and ${at} are identical)`,
      );
    }
    met.set(text, at);
  }
  return true;
};

/** Canonical JSON: equal values have equal texts. */
function canonical(value: unknown, steps: Budget): string {
  if (Array.isArray(value)) {
    steps.spend(1 + value.length);
    return `[${value.map((item) => canonical(item, steps)).join(',')}]`;
  }
  if (isJsonObject(value)) {
    const names = namesOf(value).toSorted();
    steps.spend(1 + names.length);
    const members = names.map((name) => `${JSON.stringify(name)}:${canonical(value[name], steps)}`);
    return `{${members.join(',')}}`;
  }
  if (typeof value !== 'string') return String(value === 0 ? 0 : value);
  steps.spend(1 + value.length / 16);
  return JSON.stringify(value);
}

const unbounded = { spend: () => {} };

/** Returns a test whether a value equals an allowed one. Scalars take one set lookup. */
function memberOf(allowed: readonly unknown[]): (value: unknown, steps: Budget) => boolean {
  const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;
  const scalars = new Set(allowed.filter(isScalar));
  const others = new Set(
    allowed.filter((each) => !isScalar(each)).map((each) => canonical(each, unbounded)),
  );
  return (value, steps) =>
    isScalar(value) ? scalars.has(value) : others.size > 0 && others.has(canonical(value, steps));
}

const enumeration: MakeCheck = (given, at) => {
  if (!Array.isArray(given)) {
    throw new TypeError(`${at} must be a list, got ${inspectValue(given)}`);
  }
  const isMember = memberOf(given);
  return (value, run) =>
    isMember(value, run) ||
    run.fault(() => `must be equal to one of the allowed values: ${JSON.stringify(given)}`);
};

const constant: MakeCheck = (given) => {
  const isMember = memberOf([given]);
  return (value, run) =>
    isMember(value, run) || run.fault(() => `must be equal to constant: ${JSON.stringify(given)}`);
};

/** Size limits. If one fails, the contents of the value are not checked. */
export const sizeKeywords: { readonly [keyword: string]: MakeCheck } = {
  maxLength: size('more', 'characters', lengthOf),
  minLength: size('fewer', 'characters', lengthOf),
  maxItems: size('more', 'items', itemsOf),
  minItems: size('fewer', 'items', itemsOf),
  maxProperties: size('more', 'properties', propertiesOf),
  minProperties: size('fewer', 'properties', propertiesOf),
};

/** Compares decimal representations, because 19.99 / 0.01 is 1998.9999999999998 in binary. */
function isMultiple(value: number, bound: number): boolean {
  if (!Number.isFinite(value) || bound === 0) return false;
  if (Number.isSafeInteger(value) && Number.isSafeInteger(bound)) return value % bound === 0;
  const [one, other] = [decimalOf(value), decimalOf(bound)];
  const exponent = Math.min(one.exponent, other.exponent);
  const scaled = (each: Decimal) => each.digits * 10n ** BigInt(each.exponent - exponent);
  return scaled(one) % scaled(other) === 0n;
}

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** All other validation keywords. */
export const valueKeywords: { readonly [keyword: string]: MakeCheck } = {
  minimum: numeric('>=', (value, bound) => value >= bound),
  maximum: numeric('<=', (value, bound) => value <= bound),
  exclusiveMinimum: numeric('>', (value, bound) => value > bound),
  exclusiveMaximum: numeric('<', (value, bound) => value < bound),
  multipleOf: numeric('multiple of', isMultiple),
  pattern,
  required,
  dependentRequired,
  enum: enumeration,
  const: constant,
  uniqueItems,
};
