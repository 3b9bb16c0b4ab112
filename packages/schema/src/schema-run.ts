/**
 * Runs compiled schemas: the checks of nodes and members, and the state of one run, which counts
 * steps and collects errors. `schema-check.ts` compiles.
 *
 * Schemas and values may be untrusted, so every step is counted.
 *
 * @see JSON Schema 2020-12 Core, section 10.3, "Keywords for Applying Subschemas to Child
 *   Instances"
 * @see JSON Schema 2020-12 Core, section 11, "A Vocabulary for Unevaluated Locations"
 */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { SchemaSide } from './json-schema.ts';
import { OutOfSteps, patternAt } from './pattern.ts';
import type { Budget, Pattern } from './pattern.ts';

/** Maximum number of reported errors. */
const maxFaults = 10;
/** Maximum combined nesting of value and schema. Values in messages reach a tenth of it. */
const maxDepth = 1500;
/** Step limit for one value, about 0.1 s. A step is one keyword or character. */
const maxSteps = 2_000_000;

/** Name of the value itself in errors. */
const roots = { input: 'the arguments', output: 'the result' };

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  /** Explanation for people, with locations. */
  | { readonly ok: false; readonly fault: string };

/** Validates a value against a schema and records errors in the run. */
export type Check = (value: unknown, run: SchemaRun) => boolean;

/**
 * Validates a value against one keyword.
 *
 * @param object the value, if it is an object
 */
export type KeywordCheck = (
  value: unknown,
  run: SchemaRun,
  object: JsonObject | undefined,
) => boolean;

/**
 * Compiles a keyword's value to a check.
 *
 * @throws {TypeError} if the value is invalid
 */
export type MakeCheck = (given: unknown, at: string) => KeywordCheck;

/** A compiled schema. The node exists before its check, because schemas may be recursive. */
export interface SchemaNode {
  check: Check;
}

/** An error with its location, such as `must be string`. */
interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Thrown for a value nested too deeply, or a schema that refers to itself. */
class TooDeep extends Error {}

/**
 * Creates the validator of a compiled schema. An `input` run adds defaults; an `output` run changes
 * nothing.
 */
export function runnerOf(check: Check, side: SchemaSide): (value: unknown) => Checked {
  return (value) => {
    const run = new SchemaRun(maxSteps, side === 'input');
    try {
      if (check(value, run)) return { ok: true, value };
      return { ok: false, fault: run.explain(roots[side]) };
    } catch (error) {
      return { ok: false, fault: `${roots[side]} ${unchecked(error)}` };
    }
  };
}

/** Explains why a check was aborted. */
function unchecked(error: unknown): string {
  if (error instanceof OutOfSteps) {
    return `cannot be checked within ${maxSteps} steps: the value is too large, or a recursive schema matches it in too many ways`;
  }
  if (error instanceof TooDeep) return 'cannot be checked: the value is nested too deeply';
  throw error;
}

export class SchemaRun implements Budget {
  /** Path of the value being checked. */
  readonly path: (string | number)[] = [];
  /**
   * Evaluated property names and item indices, recorded if an `unevaluated…` keyword needs them.
   */
  seen: Set<string | number> | undefined = undefined;
  /** Stack of entered resources, for `$dynamicRef`. */
  readonly scope: object[] = [];
  /** True if defaults are added. */
  addsDefaults: boolean;
  /** Collected errors; undefined if they are not needed. */
  #faults: Fault[] | undefined = [];
  #depth = 0;
  #left: number;

  constructor(maxSteps: number, addsDefaults: boolean) {
    this.#left = maxSteps;
    this.addsDefaults = addsDefaults;
  }

  /** True if further errors cannot change the report. */
  get isDecided(): boolean {
    return this.#faults === undefined || this.#faults.length >= maxFaults;
  }

  get faults(): readonly Fault[] {
    return this.#faults ?? [];
  }

  /**
   * Records an error.
   *
   * @returns false, the outcome of the check
   */
  fault(message: () => string, name?: string | number): false {
    if (!this.isDecided) {
      const path = name === undefined ? [...this.path] : [...this.path, name];
      this.#faults?.push({ path, message: message() });
    }
    return false;
  }

  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new OutOfSteps();
  }

  /**
   * Enters a schema.
   *
   * @throws {OutOfSteps}
   * @throws {TooDeep}
   */
  enter(weight: number): void {
    this.spend(weight);
    if (++this.#depth > maxDepth) throw new TooDeep();
  }

  leave(): void {
    this.#depth--;
  }

  /** Checks a member of the current value. */
  within(name: string | number, { check }: SchemaNode, value: unknown): boolean {
    if (this.#faults === undefined && this.seen === undefined) return check(value, this);
    const outer = this.seen;
    this.seen = undefined;
    this.path.push(name);
    const conforms = check(value, this);
    this.path.pop();
    this.seen = outer;
    outer?.add(name);
    return conforms;
  }

  /** Checks a value without recording errors or adding defaults. */
  quietly(node: SchemaNode, value: unknown): boolean {
    const faults = this.#faults;
    this.#faults = undefined;
    const conforms = this.supposing(node, value);
    this.#faults = faults;
    return conforms;
  }

  /**
   * Checks a value against one of several alternatives. Evaluated members count only if the
   * alternative matches.
   */
  supposing({ check }: SchemaNode, value: unknown): boolean {
    const { seen, addsDefaults } = this;
    this.addsDefaults = false;
    if (seen) this.seen = new Set();
    const conforms = check(value, this);
    if (seen && conforms) for (const name of this.seen ?? []) seen.add(name);
    this.seen = seen;
    this.addsDefaults = addsDefaults;
    return conforms;
  }

  /** Tries several alternatives. Records their errors only if all fail. */
  anyOf(tries: () => boolean): boolean {
    const outer = this.#faults;
    if (outer === undefined) return tries();
    this.#faults = [];
    const conforms = tries();
    const inner = this.#faults ?? [];
    this.#faults = outer;
    if (!conforms) outer.push(...inner.slice(0, maxFaults - outer.length));
    return conforms;
  }

  /**
   * Formats the errors for people.
   *
   * @param root name of the value itself
   */
  explain(root: string): string {
    const faults = this.faults.map(
      ({ path, message }) => `${path.length === 0 ? root : path.join('.')} ${message}`,
    );
    const more =
      faults.length === maxFaults
        ? [`and perhaps more (only the first ${maxFaults} are listed)`]
        : [];
    return [...faults, ...more].join('; ');
  }
}

/** Compiled keywords of one schema. */
export interface NodeParts {
  readonly type: KeywordCheck | undefined;
  /** Size limits. If one fails, the contents of the value are not checked. */
  readonly sizes: readonly KeywordCheck[];
  /** Adds the defaults of an object. */
  readonly fill: ((object: JsonObject) => void) | undefined;
  readonly others: readonly KeywordCheck[];
  /** `unevaluated…` keywords, for members that no other keyword evaluated. */
  readonly leftOver: readonly KeywordCheck[];
}

/** Combines compiled keywords to the check of one schema. */
export function nodeCheck({ type, sizes, fill, others, leftOver }: NodeParts): Check {
  const weight = 1 + sizes.length + others.length;
  const check: Check = (value, run) => {
    run.enter(weight);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const object = isObject ? (value as JsonObject) : undefined;
    let conforms = type === undefined || type(value, run, object);
    if (conforms && sizes.length > 0) conforms = all(sizes, value, run, object);
    if (conforms && fill && object && run.addsDefaults) fill(object);
    if (conforms && others.length > 0) conforms = all(others, value, run, object);
    run.leave();
    return conforms;
  };
  return leftOver.length === 0 ? check : withLeftOver(check, leftOver);
}

/** Records evaluated members during a check, then checks the rest. */
function withLeftOver(check: Check, leftOver: readonly KeywordCheck[]): Check {
  return (value, run) => {
    const outer = run.seen;
    run.seen = new Set();
    const object = isJsonObject(value) ? value : undefined;
    const conforms = check(value, run) && all(leftOver, value, run, object);
    if (outer) for (const name of run.seen) outer.add(name);
    run.seen = outer;
    return conforms;
  };
}

/** True if a value passes all checks. */
function all(
  checks: readonly KeywordCheck[],
  value: unknown,
  run: SchemaRun,
  object: JsonObject | undefined,
): boolean {
  let conforms = true;
  for (const check of checks) {
    if (check(value, run, object)) continue;
    conforms = false;
    if (run.isDecided) break;
  }
  return conforms;
}

/** True if all items pass. Stops when the outcome is decided. */
function each<T>(items: Iterable<T>, run: SchemaRun, check: (item: T) => boolean): boolean {
  let conforms = true;
  for (const item of items) {
    run.spend(1);
    if (check(item)) continue;
    conforms = false;
    if (run.isDecided) break;
  }
  return conforms;
}

/** True if a value matches all schemas. */
export function allNodes(nodes: readonly SchemaNode[], value: unknown, run: SchemaRun): boolean {
  return each(nodes, run, ({ check }) => check(value, run));
}

const isOfType: { readonly [type: string]: (value: unknown, object: unknown) => boolean } = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  null: (value) => value === null,
  number: Number.isFinite,
  object: (_, object) => object !== undefined,
  string: (value) => typeof value === 'string',
};

export function typeCheck(given: unknown, at: string): KeywordCheck {
  const listed: readonly unknown[] = Array.isArray(given) ? given : [given];
  const names = listed.map((name) => {
    if (typeof name === 'string' && Object.hasOwn(isOfType, name)) return name;
    const known = Object.keys(isOfType).join(', ');
    throw new TypeError(`${at} must be one of ${known}, got ${inspectValue(name)}`);
  });
  const message = `must be ${names.join(',')}`;
  const [first = () => false, ...others] = names.flatMap((name) => isOfType[name] ?? []);
  return (value, run, object) =>
    first(value, object) ||
    others.some((isSuch) => isSuch(value, object)) ||
    run.fault(() => message);
}

/** Names of an object's members. Undefined members count as absent, as in JSON. */
export function namesOf(object: JsonObject): readonly string[] {
  const names = Object.keys(object);
  for (const name of names) {
    if (object[name] !== undefined) continue;
    return names.filter((other) => object[other] !== undefined);
  }
  return names;
}

/** True if an object has an own, defined member. */
export function hasMember(object: JsonObject, name: string): boolean {
  return object[name] !== undefined && Object.hasOwn(object, name);
}

/** @throws {TypeError} if the value is not an array of names */
function namesAt(given: unknown, at: string): readonly string[] {
  if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given;
  throw new TypeError(`${at} must be an array of names, got ${inspectValue(given)}`);
}

export const required: MakeCheck = (given, at) => {
  const names = namesAt(given, at);
  return (_, run, object) => {
    if (!object) return true;
    let conforms = true;
    for (const name of names) {
      if (hasMember(object, name)) continue;
      conforms = run.fault(() => `must have required property '${name}'`);
    }
    return conforms;
  };
};

export const dependentRequired: MakeCheck = (given, at) => {
  if (!isJsonObject(given)) {
    throw new TypeError(`${at} must be an object of arrays, got ${inspectValue(given)}`);
  }
  const lists = Object.entries(given).map(
    ([name, list]) => [name, namesAt(list, `${at}/${name}`)] as const,
  );
  return (_, run, object) => {
    if (!object) return true;
    let conforms = true;
    for (const [name, needed] of lists) {
      if (!hasMember(object, name)) continue;
      for (const other of needed) {
        if (hasMember(object, other)) continue;
        conforms = run.fault(() => `must have property ${other} when property ${name} is present`);
      }
    }
    return conforms;
  };
};

/** Compiles the subschemas of a schema. */
export interface NodeMaker {
  /** Location of the schema. */
  readonly at: string;
  one(schema: unknown, keyword: string): SchemaNode;
  list(schemas: unknown, keyword: string): readonly SchemaNode[];
}

/** Checks of array items and object properties. */
export function memberChecks(schema: JsonObject, make: NodeMaker): readonly KeywordCheck[] {
  return [...itemChecks(schema, make), ...propertyChecks(schema, make)];
}

function itemChecks(schema: JsonObject, make: NodeMaker): readonly KeywordCheck[] {
  const { prefixItems, items, contains } = schema;
  const checks: KeywordCheck[] = [];
  const first = prefixItems === undefined ? [] : make.list(prefixItems, 'prefixItems');
  if (first.length > 0) {
    checks.push((value, run) => {
      if (!Array.isArray(value)) return true;
      return each(first.slice(0, value.length).entries(), run, ([at, node]) =>
        run.within(at, node, value[at]),
      );
    });
  }
  if (items === false) {
    checks.push(
      (value, run) =>
        !Array.isArray(value) ||
        value.length <= first.length ||
        run.fault(() => `must NOT have more than ${first.length} items`),
    );
  } else if (items !== undefined) {
    const node = make.one(items, 'items');
    checks.push((value, run) => {
      if (!Array.isArray(value)) return true;
      let conforms = true;
      for (let at = first.length; at < value.length; at++) {
        if (!run.within(at, node, value[at])) conforms = false;
        if (!conforms && run.isDecided) break;
      }
      return conforms;
    });
  }
  if (contains !== undefined) checks.push(containsCheck(schema, make));
  return checks;
}

function containsCheck(schema: JsonObject, make: NodeMaker): KeywordCheck {
  const { contains, minContains: least = 1, maxContains: most = Infinity } = schema;
  for (const [keyword, bound] of [
    ['minContains', least],
    ['maxContains', most],
  ] as const) {
    if (typeof bound === 'number') continue;
    throw new TypeError(`${make.at}/${keyword} must be a number, got ${inspectValue(bound)}`);
  }
  const node = make.one(contains, 'contains');
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    const { seen } = run;
    let count = 0;
    for (const [at, item] of value.entries()) {
      run.spend(1);
      run.seen = undefined;
      if (!run.quietly(node, item)) continue;
      count++;
      seen?.add(at);
    }
    run.seen = seen;
    if (count >= Number(least) && count <= Number(most)) return true;
    const bound = most === Infinity ? '' : ` and no more than ${String(most)}`;
    return run.fault(() => `must contain at least ${String(least)}${bound} valid item(s)`);
  };
}

function propertyChecks(schema: JsonObject, make: NodeMaker): readonly KeywordCheck[] {
  const { propertyNames, properties = {}, patternProperties = {} } = schema;
  const checks: KeywordCheck[] = [];
  if (propertyNames !== undefined) {
    const node = make.one(propertyNames, 'propertyNames');
    checks.push((_, run, object) => {
      if (!object) return true;
      return each(
        namesOf(object),
        run,
        (name) =>
          run.quietly(node, name) ||
          run.fault(() => `must not have the property name ${inspectValue(name)} (propertyNames)`),
      );
    });
  }
  const known = entriesOf(properties, make.at, 'properties').map(
    ([name, given]) => [name, make.one(given, `properties/${name}`)] as const,
  );
  if (known.length > 0) {
    checks.push((_, run, object) => {
      if (!object) return true;
      let conforms = true;
      for (const [name, node] of known) {
        if (!hasMember(object, name) || run.within(name, node, object[name])) continue;
        conforms = false;
        if (run.isDecided) break;
      }
      return conforms;
    });
  }
  const patterns = entriesOf(patternProperties, make.at, 'patternProperties').map(
    ([source, given]): readonly [Pattern, SchemaNode] => [
      patternAt(source, `${make.at}/patternProperties`),
      make.one(given, `patternProperties/${source}`),
    ],
  );
  const others = schema['additionalProperties'];
  if (patterns.length > 0 || others !== undefined) {
    const names = new Set(known.map(([name]) => name));
    checks.push(otherProperties(names, patterns, others, make));
  }
  return checks;
}

/** `patternProperties` and `additionalProperties`. */
function otherProperties(
  known: ReadonlySet<string>,
  patterns: readonly (readonly [Pattern, SchemaNode])[],
  others: unknown,
  make: NodeMaker,
): KeywordCheck {
  const additional = others === undefined ? undefined : make.one(others, 'additionalProperties');
  return (_, run, object) => {
    if (!object) return true;
    const names = namesOf(object);
    run.spend(names.length);
    let conforms = true;
    for (const name of names) {
      const fitting = patterns.length === 0 ? none : fittingOf(patterns, name, run);
      if (fitting.length > 0) {
        if (each(fitting, run, (node) => run.within(name, node, object[name]))) continue;
      } else if (!additional || known.has(name)) {
        continue;
      } else if (others === false) {
        run.fault(() => `must not have the property "${name}"`);
      } else if (run.within(name, additional, object[name])) {
        continue;
      }
      conforms = false;
      if (run.isDecided) break;
    }
    return conforms;
  };
}

const none: readonly SchemaNode[] = [];

function fittingOf(
  patterns: readonly (readonly [Pattern, SchemaNode])[],
  name: string,
  run: SchemaRun,
): readonly SchemaNode[] {
  return patterns.filter(([pattern]) => pattern.test(name, run)).map(([, node]) => node);
}

/** Checks of members that no other keyword evaluated. */
export function leftOverChecks(schema: JsonObject, make: NodeMaker): readonly KeywordCheck[] {
  const { unevaluatedItems: items, unevaluatedProperties: properties } = schema;
  const checks: KeywordCheck[] = [];
  if (items !== undefined) {
    const node = make.one(items, 'unevaluatedItems');
    checks.push((value, run) => {
      if (!Array.isArray(value)) return true;
      return each(value.keys(), run, (at) => {
        if (run.seen?.has(at)) return true;
        if (items === false) return run.fault(() => `must NOT have the item ${at}`);
        return run.within(at, node, value[at]);
      });
    });
  }
  if (properties !== undefined) {
    const node = make.one(properties, 'unevaluatedProperties');
    checks.push((_, run, object) => {
      if (!object) return true;
      return each(namesOf(object), run, (name) => {
        if (run.seen?.has(name)) return true;
        if (properties === false) return run.fault(() => `must not have the property "${name}"`);
        return run.within(name, node, object[name]);
      });
    });
  }
  return checks;
}

/**
 * Entries of an object of schemas.
 *
 * @throws {TypeError} if it is not an object
 */
export function entriesOf(
  given: unknown,
  at: string,
  keyword: string,
): readonly (readonly [name: string, schema: unknown])[] {
  if (isJsonObject(given)) return Object.entries(given).filter(([, each]) => each !== undefined);
  throw new TypeError(`${at}/${keyword} must be an object of schemas, got ${inspectValue(given)}`);
}
