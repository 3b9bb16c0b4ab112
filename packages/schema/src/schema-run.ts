/**
 * The running of a compiled schema: the check of each node, the keywords that demand members or are about
 * them, and the run, which counts what a check costs and gathers what is wrong. `schema-check.ts` compiles.
 *
 * A schema and a value may come from strangers, so every step is counted.
 *
 * @see JSON Schema 2020-12 Core, section 10.3, "Keywords for Applying Subschemas to Child Instances"
 * @see JSON Schema 2020-12 Core, section 11, "A Vocabulary for Unevaluated Locations"
 */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { SchemaSide } from './json-schema.ts';
import { OutOfSteps, patternAt } from './pattern.ts';
import type { Budget, Pattern } from './pattern.ts';

/** How many faults are told. */
const maxFaults = 10;
/** A value and its schema together may be nested this deep. A message's values reach a tenth of it. */
const maxDepth = 1500;
/** What checking one value may cost: a look at a keyword or at a character. About 0.1 seconds. */
const maxSteps = 2_000_000;

/** What faults call the value itself. */
const roots = { input: 'the arguments', output: 'the result' };

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  /** What is wrong and at which place, for a person. */
  | { readonly ok: false; readonly fault: string };

/** Whether a value conforms to a schema. The run is told why it does not. */
export type Check = (value: unknown, run: SchemaRun) => boolean;

/**
 * Whether a value conforms to one keyword.
 * @param object the value, if it is an object
 */
export type KeywordCheck = (
  value: unknown,
  run: SchemaRun,
  object: JsonObject | undefined,
) => boolean;

/** Makes the check of a keyword's value. @throws {TypeError} the value is not allowed */
export type MakeCheck = (given: unknown, at: string) => KeywordCheck;

/** A schema's check. The node is there before its check is made: schemas refer to each other. */
export interface SchemaNode {
  check: Check;
}

/** What does not conform, and how: `must be string`. */
interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A value was given up, because it is nested too deeply or its schema refers to itself. */
class TooDeep extends Error {}

/** Runs a compiled schema over values. An `input` run fills in defaults, an `output` run changes nothing. */
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

/** Why a value could not be checked to its end. */
function unchecked(error: unknown): string {
  if (error instanceof OutOfSteps) {
    return `cannot be checked, because that takes more than ${maxSteps} steps: there is too much in them, or a schema that refers to itself matches them in too many ways`;
  }
  if (error instanceof TooDeep) return 'cannot be checked, because they are nested too deeply';
  throw error;
}

export class SchemaRun implements Budget {
  /** The path of the value that is being checked. */
  readonly path: (string | number)[] = [];
  /** The names and places that have been checked, if an `unevaluated…` asks for them. */
  seen: Set<string | number> | undefined = undefined;
  /** The resources that the check has entered, as `$dynamicRef` asks for. */
  readonly scope: object[] = [];
  /** Whether defaults are filled in. */
  fillsIn: boolean;
  /** Undefined: nobody asks why. */
  #faults: Fault[] | undefined = [];
  #depth = 0;
  #left: number;

  constructor(maxSteps: number, fillsIn: boolean) {
    this.#left = maxSteps;
    this.fillsIn = fillsIn;
  }

  /** Whether nothing that is found from now on changes the outcome, once something is wrong. */
  get isDecided(): boolean {
    return this.#faults === undefined || this.#faults.length >= maxFaults;
  }

  get faults(): readonly Fault[] {
    return this.#faults ?? [];
  }

  /** Notes what is wrong. @returns false, the outcome */
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

  /** Enters a schema. @throws {OutOfSteps} @throws {TooDeep} */
  enter(weight: number): void {
    this.spend(weight);
    if (++this.#depth > maxDepth) throw new TooDeep();
  }

  leave(): void {
    this.#depth--;
  }

  /** Checks a member of a value. */
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

  /** Checks a value that may well not conform: nothing is told, nothing is filled in. */
  quietly(node: SchemaNode, value: unknown): boolean {
    const faults = this.#faults;
    this.#faults = undefined;
    const conforms = this.supposing(node, value);
    this.#faults = faults;
    return conforms;
  }

  /** Checks a value against one of several: it has been checked by this one only if it conforms. */
  supposing({ check }: SchemaNode, value: unknown): boolean {
    const { seen, fillsIn } = this;
    this.fillsIn = false;
    if (seen) this.seen = new Set();
    const conforms = check(value, this);
    if (seen && conforms) for (const name of this.seen ?? []) seen.add(name);
    this.seen = seen;
    this.fillsIn = fillsIn;
    return conforms;
  }

  /** Tries several: their faults count if all of them fail. */
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

  /** What is wrong, for a person. @param root names the value itself */
  explain(root: string): string {
    const faults = this.faults.map(
      ({ path, message }) => `${path.length === 0 ? root : path.join('.')} ${message}`,
    );
    const more =
      faults.length === maxFaults ? [`and perhaps more: these are the first ${maxFaults}`] : [];
    return [...faults, ...more].join('; ');
  }
}

/** The keywords of one schema, compiled. */
export interface NodeParts {
  readonly type: KeywordCheck | undefined;
  /** If one of them fails, nothing within the value is looked at. */
  readonly sizes: readonly KeywordCheck[];
  /** Fills in the defaults of an object. */
  readonly fill: ((object: JsonObject) => void) | undefined;
  readonly others: readonly KeywordCheck[];
  /** `unevaluated…`: what none of the others has looked at. */
  readonly leftOver: readonly KeywordCheck[];
}

/** The check of one schema. */
export function nodeCheck({ type, sizes, fill, others, leftOver }: NodeParts): Check {
  const weight = 1 + sizes.length + others.length;
  const check: Check = (value, run) => {
    run.enter(weight);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const object = isObject ? (value as JsonObject) : undefined;
    let conforms = type === undefined || type(value, run, object);
    if (conforms && sizes.length > 0) conforms = all(sizes, value, run, object);
    if (conforms && fill && object && run.fillsIn) fill(object);
    if (conforms && others.length > 0) conforms = all(others, value, run, object);
    run.leave();
    return conforms;
  };
  return leftOver.length === 0 ? check : withLeftOver(check, leftOver);
}

/** A check that notes what it has looked at, and then looks at the rest. */
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

/** Whether a value passes all checks. */
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

/** Whether all conform. Once the outcome is decided, the rest is not asked. */
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

/** Whether a value conforms to all schemas. */
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

/** The names of an object's members. One that is undefined is not there, as in JSON. */
export function namesOf(object: JsonObject): readonly string[] {
  const names = Object.keys(object);
  for (const name of names) {
    if (object[name] !== undefined) continue;
    return names.filter((other) => object[other] !== undefined);
  }
  return names;
}

/** Whether an object has a member of its own. */
export function hasMember(object: JsonObject, name: string): boolean {
  return object[name] !== undefined && Object.hasOwn(object, name);
}

/** @throws {TypeError} it is not a list of names */
function namesAt(given: unknown, at: string): readonly string[] {
  if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given;
  throw new TypeError(`${at} must be a list of names, got ${inspectValue(given)}`);
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
    throw new TypeError(`${at} must be an object of lists, got ${inspectValue(given)}`);
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

/** Makes the checks of the schemas within a schema. */
export interface NodeMaker {
  /** The path of the schema. */
  readonly at: string;
  one(schema: unknown, keyword: string): SchemaNode;
  list(schemas: unknown, keyword: string): readonly SchemaNode[];
}

/** The checks of an array's items and of an object's properties. */
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
          run.fault(() => `has the name ${inspectValue(name)}, which its propertyNames refuse`),
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

/** The checks of what no other keyword has looked at. */
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

/** Schemas with names. @throws {TypeError} it is not an object */
export function entriesOf(
  given: unknown,
  at: string,
  keyword: string,
): readonly (readonly [name: string, schema: unknown])[] {
  if (isJsonObject(given)) return Object.entries(given).filter(([, each]) => each !== undefined);
  throw new TypeError(`${at}/${keyword} must be an object of schemas, got ${inspectValue(given)}`);
}
