/**
 * Compiles JSON Schemas to validators when they are defined, so that an invalid schema fails on the
 * line that defines it.
 *
 * Schemas and values may be untrusted; `schema-run.ts` counts the cost of a check. No code is
 * generated, so this works in every runtime.
 *
 * @see JSON Schema 2020-12 Core, section 10, "A Vocabulary for Applying Subschemas"
 */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { JsonSchema, SchemaSide } from './json-schema.ts';
import { sizeKeywords, valueKeywords } from './schema-keywords.ts';
import { SchemaResources } from './schema-resources.ts';
import type { Located, SchemaResource } from './schema-resources.ts';
import {
  allNodes,
  dependentRequired,
  entriesOf,
  hasMember,
  leftOverChecks,
  memberChecks,
  nodeCheck,
  runnerOf,
  typeCheck,
} from './schema-run.ts';
import type {
  Check,
  Checked,
  KeywordCheck,
  MakeCheck,
  NodeMaker,
  SchemaNode,
  SchemaRun,
} from './schema-run.ts';

/** Keywords whose values are schemas: a single one, a list (`listed`), or by name (`named`). */
const one = [
  ...['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
];
const listed = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const named = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

/** Maximum nesting of schemas. */
const maxDepth = 256;

/** Cache of compiled schemas. */
const compiled = new WeakMap<JsonSchema, Check>();

/**
 * Compiles a JSON Schema to a validator and caches it. An `input` validator adds defaults; an
 * `output` validator changes nothing. At most ten errors per value are reported.
 *
 * @throws {TypeError} with location and reason, if a keyword has an invalid value, a reference
 *   cannot be resolved, or a pattern is not a regular expression or cannot be matched in bounded
 *   time
 */
export function validatorOf(schema: JsonSchema, side: SchemaSide): (value: unknown) => Checked {
  const check = compiled.get(schema) ?? new SchemaCompiler(schema).root.check;
  compiled.set(schema, check);
  return runnerOf(check, side);
}

class SchemaCompiler {
  readonly root: SchemaNode;
  readonly #resources: SchemaResources;
  readonly #nodes = new Map<SchemaResource, Map<unknown, SchemaNode>>();
  /** True if a `$dynamicRef` needs the stack of entered resources. */
  #isDynamic = false;

  constructor(schema: unknown) {
    this.#resources = new SchemaResources(schema);
    const { root } = this.#resources;
    this.#register(root, 0);
    this.root = this.#node(root);
  }

  /** Registers all subschemas before any reference is resolved. */
  #register({ schema, resource: outer, at }: Located, depth: number): void {
    if (typeof schema === 'boolean') return;
    const given = schemaAt(schema, at);
    if (depth > maxDepth) throw new TypeError(`schemas must be nested at most ${maxDepth} deep`);
    const resource = this.#resources.register(given, outer, at);
    if (given['$dynamicRef'] !== undefined) this.#isDynamic = true;
    for (const [within, place] of schemasIn(given, at)) {
      this.#register({ schema: within, resource, at: place }, depth + 1);
    }
  }

  #node({ schema, resource: outer, at }: Located): SchemaNode {
    const resource = this.#resources.resourceOf(schema, outer, at);
    const known = this.#nodes.get(resource) ?? new Map<unknown, SchemaNode>();
    this.#nodes.set(resource, known);
    const found = known.get(schema);
    if (found) return found;
    const node: SchemaNode = { check: () => true };
    known.set(schema, node);
    if (schema === false) node.check = (_, run) => run.fault(() => 'must be absent');
    else if (schema !== true) node.check = this.#checkOf(schemaAt(schema, at), resource, at);
    return node;
  }

  #checkOf(schema: JsonObject, resource: SchemaResource, at: string): Check {
    const { type: types } = schema;
    const make: NodeMaker = {
      at,
      one: (given, keyword) => this.#node({ schema: given, resource, at: `${at}/${keyword}` }),
      list: (given, keyword) =>
        listAt(given, `${at}/${keyword}`).map((each, n) =>
          this.#node({ schema: each, resource, at: `${at}/${keyword}/${n}` }),
        ),
    };
    const type = types === undefined ? undefined : typeCheck(types, `${at}/type`);
    const sizes = checksOf(schema, at, sizeKeywords);
    const others = [
      ...checksOf(schema, at, valueKeywords),
      ...this.#references(schema, resource, at),
      ...combinations(schema, make),
      ...dependent(schema, make),
      ...memberChecks(schema, make),
    ];
    const leftOver = leftOverChecks(schema, make);
    // Unreferenced subschemas must be valid, too.
    for (const [within, place] of schemasIn(schema, at)) {
      this.#node({ schema: within, resource, at: place });
    }
    const check = nodeCheck({ type, sizes, fill: fillerOf(schema), others, leftOver });
    return this.#isDynamic ? inScope(resource, check) : check;
  }

  /** `$ref` and `$dynamicRef`. */
  #references(schema: JsonObject, resource: SchemaResource, at: string): readonly Check[] {
    const checks: Check[] = [];
    for (const keyword of ['$ref', '$dynamicRef'] as const) {
      const reference = schema[keyword];
      if (reference === undefined) continue;
      const place = `${at}/${keyword}`;
      if (typeof reference !== 'string') {
        throw new TypeError(`${place} must be a string, got ${inspectValue(reference)}`);
      }
      const target = this.#resources.find(reference, resource, place);
      const node = this.#node(target);
      const name = reference.split('#')[1] ?? '';
      const isDynamic =
        keyword === '$dynamicRef' &&
        target.resource.dynamicAnchors.get(name)?.schema === target.schema;
      checks.push(
        isDynamic
          ? (value, run) => this.#dynamic(name, run, node).check(value, run)
          : (value, run) => node.check(value, run),
      );
    }
    return checks;
  }

  /** Resolves a dynamic anchor in the outermost entered resource that defines it. */
  #dynamic(name: string, run: SchemaRun, otherwise: SchemaNode): SchemaNode {
    for (const resource of run.scope as readonly SchemaResource[]) {
      run.spend(1);
      const found = resource.dynamicAnchors.get(name);
      if (found) return this.#node(found);
    }
    return otherwise;
  }
}

/** `allOf`, `anyOf`, `oneOf`, `not` and `if`. */
function combinations(schema: JsonObject, make: NodeMaker): readonly Check[] {
  const { allOf, anyOf, oneOf, not } = schema;
  const checks: Check[] = [];
  if (allOf !== undefined) {
    const nodes = make.list(allOf, 'allOf');
    checks.push((value, run) => allNodes(nodes, value, run));
  }
  if (anyOf !== undefined) {
    const nodes = make.list(anyOf, 'anyOf');
    checks.push(
      (value, run) =>
        // For `unevaluated…`, every matching schema must record its properties.
        run.anyOf(() => countOf(nodes, value, run, run.seen ? Infinity : 1) > 0) ||
        run.fault(() => 'must match a schema in anyOf'),
    );
  }
  if (oneOf !== undefined) {
    const nodes = make.list(oneOf, 'oneOf');
    checks.push((value, run) => {
      let count = 0;
      run.anyOf(() => (count = countOf(nodes, value, run, 2)) > 0);
      return count === 1 || run.fault(() => 'must match exactly one schema in oneOf');
    });
  }
  if (not !== undefined) {
    const node = make.one(not, 'not');
    checks.push((value, run) => !run.quietly(node, value) || run.fault(() => 'must NOT be valid'));
  }
  const condition = conditionOf(schema, make);
  return condition ? [...checks, condition] : checks;
}

function conditionOf(schema: JsonObject, make: NodeMaker): Check | undefined {
  const { if: given, then, else: otherwise } = schema;
  if (given === undefined) return undefined;
  const condition = make.one(given, 'if');
  const met = then === undefined ? undefined : make.one(then, 'then');
  const unmet = otherwise === undefined ? undefined : make.one(otherwise, 'else');
  return (value, run) => {
    const isMet = run.quietly(condition, value);
    const node = isMet ? met : unmet;
    if (!node || node.check(value, run)) return true;
    return run.fault(() => `must match "${isMet ? 'then' : 'else'}" schema`);
  };
}

/** `dependentSchemas`, and the older `dependencies`. */
function dependent(
  { dependentSchemas = {}, dependencies = {} }: JsonObject,
  make: NodeMaker,
): readonly KeywordCheck[] {
  const older = entriesOf(dependencies, make.at, 'dependencies');
  const lists = older.filter(([, given]) => Array.isArray(given));
  const nodes = [
    ...entriesOf(dependentSchemas, make.at, 'dependentSchemas').map(
      ([name, given]) => [name, make.one(given, `dependentSchemas/${name}`)] as const,
    ),
    ...older
      .filter(([, given]) => !Array.isArray(given))
      .map(([name, given]) => [name, make.one(given, `dependencies/${name}`)] as const),
  ];
  const checks: KeywordCheck[] = [];
  if (lists.length > 0) {
    checks.push(dependentRequired(Object.fromEntries(lists), `${make.at}/dependencies`));
  }
  if (nodes.length > 0) {
    checks.push((value, run, object) => {
      if (!object) return true;
      const present = nodes.filter(([name]) => hasMember(object, name)).map(([, node]) => node);
      return allNodes(present, value, run);
    });
  }
  return checks;
}

/** Counts matching schemas, up to `enough`. */
function countOf(
  nodes: readonly SchemaNode[],
  value: unknown,
  run: SchemaRun,
  enough: number,
): number {
  let count = 0;
  for (const node of nodes) {
    if (run.supposing(node, value)) count++;
    if (count >= enough) break;
  }
  return count;
}

/**
 * Direct subschemas of a schema.
 *
 * @throws {TypeError} if one of them is not a schema
 */
function schemasIn(schema: JsonObject, at: string): readonly (readonly [unknown, string])[] {
  return Object.entries(schema).flatMap(([keyword, given]): (readonly [unknown, string])[] => {
    const place = `${at}/${keyword}`;
    if (given === undefined) return [];
    if (one.includes(keyword)) return [[given, place]];
    if (listed.includes(keyword)) {
      return listAt(given, place).map((each, n) => [each, `${place}/${n}`]);
    }
    if (!named.includes(keyword)) return [];
    return entriesOf(given, at, keyword).map(([name, each]) => [each, `${place}/${name}`]);
  });
}

function schemaAt(schema: unknown, at: string): JsonObject {
  if (isJsonObject(schema)) return schema;
  throw new TypeError(`${at} must be a schema, got ${inspectValue(schema)}`);
}

function listAt(given: unknown, at: string): readonly unknown[] {
  if (Array.isArray(given) && given.length > 0) return given;
  throw new TypeError(`${at} must be a list of schemas, got ${inspectValue(given)}`);
}

function checksOf(
  schema: JsonObject,
  at: string,
  keywords: { readonly [keyword: string]: MakeCheck },
): readonly KeywordCheck[] {
  return Object.entries(keywords).flatMap(([keyword, make]) =>
    schema[keyword] === undefined ? [] : [make(schema[keyword], `${at}/${keyword}`)],
  );
}

/** Returns a function that adds the defaults of an object's properties. */
function fillerOf({ properties }: JsonObject): ((object: JsonObject) => void) | undefined {
  const defaults = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(
    ([name, schema]) =>
      isJsonObject(schema) && schema['default'] !== undefined
        ? [[name, schema['default']] as const]
        : [],
  );
  if (defaults.length === 0) return undefined;
  return (object) => {
    const filled: { [name: string]: unknown } = object;
    for (const [name, given] of defaults) {
      if (!hasMember(filled, name)) filled[name] = structuredClone(given);
    }
  };
}

/** Pushes the resource on the stack that `$dynamicRef` searches. */
function inScope(resource: SchemaResource, check: Check): Check {
  return (value, run) => {
    if (run.scope.at(-1) === resource) return check(value, run);
    run.scope.push(resource);
    const conforms = check(value, run);
    run.scope.pop();
    return conforms;
  };
}
