/**
 * What each keyword of JSON Schema demands of a value, but for those that apply other schemas.
 *
 * @see JSON Schema 2020-12 Validation, section 6, "A Vocabulary for Structural Validation"
 */
import { describe, isJsonObject } from '../protocol/classify.ts';
import { charactersOf } from './forms/field-value.ts';
import { patternOf } from './pattern.ts';
import type { Budget, Pattern } from './pattern.ts';
import type { Check } from './schema-run.ts';

/** Makes the check of what stands behind a keyword. @throws {TypeError} it may not stand there */
type MakeCheck = (given: unknown, at: string) => Check;

const isOfType: { readonly [type: string]: (value: unknown) => boolean } = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  null: (value) => value === null,
  number: Number.isFinite,
  object: isJsonObject,
  string: (value) => typeof value === 'string',
};

/** `type`, and the `nullable` of OpenAPI. */
export function typeCheck(given: unknown, nullable: unknown, at: string): Check {
  const listed: readonly unknown[] = Array.isArray(given) ? given : [given];
  const names = listed.map((name) => {
    if (typeof name === 'string' && Object.hasOwn(isOfType, name)) return name;
    const known = Object.keys(isOfType).join(', ');
    throw new TypeError(`${at} must be one of ${known}; this is ${describe(name)}`);
  });
  if (nullable === true && !names.includes('null')) names.push('null');
  const message = `must be ${names.join(',')}`;
  const [first = () => false, ...others] = names.flatMap((name) => isOfType[name] ?? []);
  return (value, run) =>
    first(value) || others.some((isSuch) => isSuch(value)) || run.fault(() => message);
}

function numberAt(given: unknown, at: string): number {
  if (typeof given === 'number') return given;
  throw new TypeError(`${at} must be a number, this is ${describe(given)}`);
}

/** A keyword that compares numbers. */
const numeric =
  (words: string, holds: (value: number, bound: number) => boolean): MakeCheck =>
  (given, at) => {
    const bound = numberAt(given, at);
    return (value, run) =>
      typeof value !== 'number' ||
      holds(value, bound) ||
      run.fault(() => `must be ${words} ${bound}`);
  };

/** A keyword that bounds a size. */
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

/** Counted only if it decides: half of them at least are characters. */
const lengthOf = (value: unknown, bound: number): number | undefined => {
  if (typeof value !== 'string') return undefined;
  const { length } = value;
  return length < bound || length / 2 > bound ? length : charactersOf(value);
};
const itemsOf = (value: unknown): number | undefined =>
  Array.isArray(value) ? value.length : undefined;
const propertiesOf = (value: unknown): number | undefined =>
  isJsonObject(value) ? namesOf(value).length : undefined;

type Members = { readonly [name: string]: unknown };

/** The names of what an object has. A member that is undefined is not there, as in JSON. */
export function namesOf(value: Members): readonly string[] {
  const names = Object.keys(value);
  for (const name of names) {
    if (value[name] !== undefined) continue;
    return names.filter((each) => value[each] !== undefined);
  }
  return names;
}

/** Whether an object has a member of its own. */
export function hasMember(value: Members, name: string): boolean {
  return value[name] !== undefined && Object.hasOwn(value, name);
}

/** @throws {TypeError} it is no list of names */
function namesAt(given: unknown, at: string): readonly string[] {
  if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given;
  throw new TypeError(`${at} must be a list of names, this is ${describe(given)}`);
}

/** @throws {TypeError} it is no expression, or none that is matched in bounded time */
export function patternAt(source: unknown, at: string): Pattern {
  if (typeof source !== 'string') {
    throw new TypeError(`${at} must be a string, this is ${describe(source)}`);
  }
  try {
    return patternOf(source);
  } catch (cause) {
    const why = cause instanceof TypeError ? cause.message : 'is no regular expression';
    throw new TypeError(`${at} ${why}: ${describe(source)}`, { cause });
  }
}

const required: MakeCheck = (given, at) => {
  const names = namesAt(given, at);
  return (value, run) => {
    if (!isJsonObject(value)) return true;
    let conforms = true;
    for (const name of names) {
      if (hasMember(value, name)) continue;
      conforms = run.fault(() => `must have required property '${name}'`);
    }
    return conforms;
  };
};

export const dependentRequired: MakeCheck = (given, at) => {
  if (!isJsonObject(given)) {
    throw new TypeError(`${at} must be an object of lists, this is ${describe(given)}`);
  }
  const lists = Object.entries(given).map(
    ([name, list]) => [name, namesAt(list, `${at}/${name}`)] as const,
  );
  return (value, run) => {
    if (!isJsonObject(value)) return true;
    let conforms = true;
    for (const [name, needed] of lists) {
      if (!hasMember(value, name)) continue;
      for (const other of needed) {
        if (hasMember(value, other)) continue;
        conforms = run.fault(() => `must have property ${other} when property ${name} is present`);
      }
    }
    return conforms;
  };
};

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

/** JSON in which equal values have equal texts. */
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

/** Whether a value equals one of a schema's. A scalar costs a look into a set. */
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
    throw new TypeError(`${at} must be a list, this is ${describe(given)}`);
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

/** The keywords that bound a size: if one is not met, nothing within is looked at. */
export const sizeKeywords: { readonly [keyword: string]: MakeCheck } = {
  maxLength: size('more', 'characters', lengthOf),
  minLength: size('fewer', 'characters', lengthOf),
  maxItems: size('more', 'items', itemsOf),
  minItems: size('fewer', 'items', itemsOf),
  maxProperties: size('more', 'properties', propertiesOf),
  minProperties: size('fewer', 'properties', propertiesOf),
};

/** The others. */
export const valueKeywords: { readonly [keyword: string]: MakeCheck } = {
  minimum: numeric('>=', (value, bound) => value >= bound),
  maximum: numeric('<=', (value, bound) => value <= bound),
  exclusiveMinimum: numeric('>', (value, bound) => value > bound),
  exclusiveMaximum: numeric('<', (value, bound) => value < bound),
  multipleOf: numeric('multiple of', (value, bound) => Number.isInteger(value / bound)),
  pattern,
  required,
  dependentRequired,
  enum: enumeration,
  const: constant,
  uniqueItems,
};
