/**
 * The keywords that apply other schemas to the items of an array and the properties of an object.
 *
 * @see JSON Schema 2020-12 Core, section 10.3, "Keywords for Applying Subschemas to Child Instances"
 * @see JSON Schema 2020-12 Core, section 11, "A Vocabulary for Unevaluated Locations"
 */
import { describe, isJsonObject } from '../protocol/classify.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Pattern } from './pattern.ts';
import { hasMember, namesOf, patternAt } from './schema-keywords.ts';
import type { Check, SchemaNode, SchemaRun } from './schema-run.ts';

/** Makes the checks of the schemas within a schema. */
export interface NodeMaker {
  /** Where the schema stands. */
  readonly at: string;
  one(schema: unknown, keyword: string): SchemaNode;
  list(schemas: unknown, keyword: string): readonly SchemaNode[];
}

/** The checks of an array's items and of an object's properties. */
export function memberChecks(schema: JsonObject, make: NodeMaker): readonly Check[] {
  return [...itemChecks(schema, make), ...propertyChecks(schema, make)];
}

function itemChecks(schema: JsonObject, make: NodeMaker): readonly Check[] {
  const { prefixItems, items, contains } = schema;
  const checks: Check[] = [];
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

function containsCheck(schema: JsonObject, make: NodeMaker): Check {
  const { contains, minContains: least = 1, maxContains: most = Infinity } = schema;
  for (const [keyword, bound] of [
    ['minContains', least],
    ['maxContains', most],
  ] as const) {
    if (typeof bound === 'number') continue;
    throw new TypeError(`${make.at}/${keyword} must be a number, this is ${describe(bound)}`);
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

function propertyChecks(schema: JsonObject, make: NodeMaker): readonly Check[] {
  const { propertyNames, properties = {}, patternProperties = {} } = schema;
  const checks: Check[] = [];
  if (propertyNames !== undefined) {
    const node = make.one(propertyNames, 'propertyNames');
    checks.push((value, run) => {
      if (!isJsonObject(value)) return true;
      return each(
        namesOf(value),
        run,
        (name) =>
          run.quietly(node, name) ||
          run.fault(() => `has the name ${describe(name)}, which its propertyNames refuse`),
      );
    });
  }
  const known = entriesOf(properties, make.at, 'properties').map(
    ([name, given]) => [name, make.one(given, `properties/${name}`)] as const,
  );
  if (known.length > 0) {
    checks.push((value, run) => {
      if (!isJsonObject(value)) return true;
      let conforms = true;
      for (const [name, node] of known) {
        if (!hasMember(value, name) || run.within(name, node, value[name])) continue;
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
): Check {
  const additional = others === undefined ? undefined : make.one(others, 'additionalProperties');
  return (value, run) => {
    if (!isJsonObject(value)) return true;
    const names = namesOf(value);
    run.spend(names.length);
    let conforms = true;
    for (const name of names) {
      const fitting = patterns.length === 0 ? none : fittingOf(patterns, name, run);
      if (fitting.length > 0) {
        if (each(fitting, run, (node) => run.within(name, node, value[name]))) continue;
      } else if (!additional || known.has(name)) {
        continue;
      } else if (others === false) {
        run.fault(() => `must not have the property "${name}"`);
      } else if (run.within(name, additional, value[name])) {
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
export function leftOverChecks(schema: JsonObject, make: NodeMaker): readonly Check[] {
  const { unevaluatedItems: items, unevaluatedProperties: properties } = schema;
  const checks: Check[] = [];
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
    checks.push((value, run) => {
      if (!isJsonObject(value)) return true;
      return each(namesOf(value), run, (name) => {
        if (run.seen?.has(name)) return true;
        if (properties === false) return run.fault(() => `must not have the property "${name}"`);
        return run.within(name, node, value[name]);
      });
    });
  }
  return checks;
}

/** Schemas with names. @throws {TypeError} they are none */
export function entriesOf(
  given: unknown,
  at: string,
  keyword: string,
): readonly (readonly [name: string, schema: unknown])[] {
  if (isJsonObject(given)) return Object.entries(given).filter(([, each]) => each !== undefined);
  throw new TypeError(`${at}/${keyword} must be an object of schemas, this is ${describe(given)}`);
}

/** Whether all conform; once the outcome is decided, the rest is not asked. */
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

/** Whether a value passes all checks. */
export function all(checks: readonly Check[], value: unknown, run: SchemaRun): boolean {
  let conforms = true;
  for (const check of checks) {
    if (check(value, run)) continue;
    conforms = false;
    if (run.isDecided) break;
  }
  return conforms;
}

/** Whether a value conforms to all schemas. */
export function allNodes(nodes: readonly SchemaNode[], value: unknown, run: SchemaRun): boolean {
  return each(nodes, run, ({ check }) => check(value, run));
}
