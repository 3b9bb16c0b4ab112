/**
 * Derives tool schemas from the document's schemas. References become `$defs`, so recursive types
 * stay finite. Each part of the document is rewritten once and shared by all tools.
 */
import { defineTool } from 'mcp-actors';
import type { JsonValue } from './document.ts';
import type { DocumentedOperation, Parameter } from './operations.ts';
import { unicodePattern } from './patterns.ts';
import type { References } from './references.ts';

/** A referenced part of the document. */
interface Definition {
  readonly name: string;
  readonly schema: unknown;
  /** Keys of the definitions it references. */
  readonly references: ReadonlySet<string>;
  /** Length as JSON. */
  readonly characters: number;
}

/** A tool argument and its place in the request. */
export interface Argument {
  readonly name: string;
  readonly target: 'body' | Parameter;
}

/** An object schema. */
export type ObjectSchema = JsonValue & { readonly type: 'object' };

/** Input schema of a tool and the destinations of its arguments. */
export interface ToolInput {
  readonly schema: ObjectSchema;
  readonly arguments: readonly Argument[];
}

/** Output schema of a tool. */
export interface ToolOutput {
  readonly schema: ObjectSchema;
  /** True if the response is not an object and is therefore wrapped in the property `result`. */
  readonly isWrapped: boolean;
}

/** A schema keyword that was dropped. */
export interface IgnoredKeyword {
  /** Operation, or part of the document. */
  readonly at: string;
  readonly keyword: string;
  readonly reason: string;
}

/** Where a schema is used: arguments, forms (which may contain files) or responses. */
type Side = 'argument' | 'form' | 'response';

/** State of rewriting a schema and its subschemas. */
interface Scope {
  readonly side: Side;
  /** Operation, or part of the document, for messages. */
  readonly at: string;
  /** Keys of referenced definitions; rewriting adds to this set. */
  readonly references: Set<string>;
  /** Properties hidden on this side by other schemas of the same object. */
  readonly hidden: ReadonlySet<string>;
}

/** Keywords whose value maps names to schemas. */
const mapKeywords = new Set(['properties', 'patternProperties', 'dependentSchemas']);

/** Keywords whose value is a list of schemas. */
const listKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);

/** Keywords whose schemas apply to the same object. */
const sameObjectKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'not']);

/** Keywords whose value is a schema. */
const schemaKeywords = new Set([
  ...['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]);

/** Keywords without use for tools, or replaced by `$defs`. */
const droppedKeywords = new Set([
  ...['discriminator', 'xml', 'externalDocs', 'example', 'examples', 'deprecated', 'nullable'],
  ...['$schema', '$id', '$anchor', '$comment', '$defs', 'definitions', '$dynamicAnchor'],
  ...['readOnly', 'writeOnly', 'contentSchema'],
]);

/** Keywords that cannot be translated. */
const unsupportedKeywords = new Set([
  '$dynamicRef',
  '$recursiveRef',
  'dependencies',
  'additionalItems',
]);

const maxFieldDescription = 300;

/** A file in a form, as base64 because JSON cannot hold bytes. */
const fileSchema = {
  type: 'object',
  description: 'A file',
  properties: {
    filename: { type: 'string' },
    mimeType: { type: 'string' },
    base64: { type: 'string', description: 'Content in base64' },
  },
  required: ['base64'],
  additionalProperties: false,
};

export class ToolSchemas {
  readonly #refs: References;
  readonly #cut: (text: string, max: number) => string;
  readonly #onIgnored: (ignored: IgnoredKeyword) => void;
  readonly #definitions = new Map<string, Definition>();
  /** Keys of definitions by their names in input and output schemas. */
  readonly #names = { input: new Map<string, string>(), response: new Map<string, string>() };
  /** Cached validation results of keyword values: the problem, or undefined if valid. */
  readonly #checked = new Map<string, string | undefined>();

  constructor(
    refs: References,
    cut: (text: string, max: number) => string,
    onIgnored: (ignored: IgnoredKeyword) => void,
  ) {
    this.#refs = refs;
    this.#cut = cut;
    this.#onIgnored = onIgnored;
  }

  /** @throws {Error} if a reference has no target */
  input({ parameters, body, method, path }: DocumentedOperation): ToolInput {
    const at = `${method} ${path}`;
    const references = new Set<string>();
    const scope: Scope = { side: 'argument', at, references, hidden: new Set() };
    const names = argumentNames(parameters, body !== undefined);
    const properties: { [name: string]: unknown } = {};
    const all: Argument[] = [];
    const required: string[] = [];
    for (const [index, parameter] of parameters.entries()) {
      const { isRequired, description, schema } = parameter;
      const name = names[index] ?? parameter.name;
      const written = this.#rewrite(schema ?? { type: 'string' }, scope);
      properties[name] = describeDefault(this.#withDescription(written, description));
      if (isRequired) required.push(name);
      all.push({ name, target: parameter });
    }
    if (body) {
      const side: Side = /json|xml|urlencoded|^text\//i.test(body.mediaType) ? 'argument' : 'form';
      const isEmpty = Object.keys(this.#refs.resolve(body.schema)).length === 0;
      const written =
        side === 'form' && isEmpty && !body.mediaType.startsWith('multipart/')
          ? fileSchema
          : this.#rewrite(body.schema, { ...scope, side });
      properties['body'] = describeDefault(this.#withDescription(written, body.description));
      if (body.isRequired) required.push('body');
      all.push({ name: 'body', target: 'body' });
    }
    const schema = {
      type: 'object' as const,
      properties,
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
      ...this.#definitionsFor(references),
    };
    return { schema, arguments: all };
  }

  /**
   * Builds the output schema of a tool.
   *
   * @param schemas schemas of all success responses
   * @param at the operation
   * @returns undefined without a schema, or if it exceeds `maxCharacters`
   * @throws {Error} if a reference has no target
   */
  output(schemas: readonly unknown[], at: string, maxCharacters: number): ToolOutput | undefined {
    const isBinary = (schema: unknown) => isFile(this.#refs.resolve(schema));
    if (schemas.length === 0 || schemas.some(isBinary)) return undefined;
    const references = new Set<string>();
    const scope: Scope = { side: 'response', at, references, hidden: new Set() };
    const all = schemas.map((schema) => this.#rewrite(schema, scope) as JsonValue);
    const distinct = [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
    const characters = this.#reachable(references).reduce(
      (sum, each) => sum + each.characters,
      lengthOf(distinct),
    );
    if (characters > maxCharacters) return undefined;
    const definitions = this.#definitionsFor(references);
    const [only = {}] = distinct;
    const written = distinct.length === 1 ? only : { anyOf: distinct };
    if (schemas.every((schema) => this.#isObject(schema))) {
      return { schema: { ...written, type: 'object', ...definitions }, isWrapped: false };
    }
    const properties = { result: written };
    const wrapped = { type: 'object' as const, properties, required: ['result'], ...definitions };
    return { schema: wrapped, isWrapped: true };
  }

  /** True for a schema that only accepts objects. */
  #isObject(schema: unknown, seen = new Set<unknown>()): boolean {
    const { nullable } = (schema ?? {}) as JsonValue;
    const resolved = this.#refs.resolve(schema);
    if (nullable === true || resolved['nullable'] === true || seen.has(resolved)) return false;
    seen.add(resolved);
    const { type, allOf } = resolved;
    if (type === 'object') return true;
    return Array.isArray(allOf) && allOf.some((each) => this.#isObject(each, seen));
  }

  #withDescription(schema: unknown, description: string | undefined): unknown {
    if (description === undefined || typeof schema !== 'object') return schema;
    return { ...schema, description: this.#cut(description, maxFieldDescription) };
  }

  #definitionsFor(references: ReadonlySet<string>): { readonly $defs?: JsonValue } {
    const reached = this.#reachable(references);
    if (reached.length === 0) return {};
    return { $defs: Object.fromEntries(reached.map(({ name, schema }) => [name, schema])) };
  }

  /** Definitions reachable from these keys. */
  #reachable(references: ReadonlySet<string>): readonly Definition[] {
    const reached = new Map<string, Definition>();
    const waiting = [...references];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (reached.has(next)) continue;
      const definition = this.#definition(next);
      reached.set(next, definition);
      waiting.push(...definition.references);
    }
    return [...reached.values()];
  }

  #definition(key: string): Definition {
    const known = this.#definitions.get(key);
    if (known) return known;
    const { side, reference, hidden } = JSON.parse(key) as DefinitionKey;
    const references = new Set<string>();
    const scope = { side, at: reference, references, hidden: new Set(hidden) };
    const schema = this.#rewrite(this.#refs.target(reference), scope);
    const name = this.#nameOf(key);
    const definition = { name, schema, references, characters: lengthOf(schema) };
    this.#definitions.set(key, definition);
    return definition;
  }

  /**
   * Names a definition: `#/components/schemas/Pet` becomes `Pet`; other references keep their path.
   */
  #nameOf(key: string): string {
    const { side, reference } = JSON.parse(key) as DefinitionKey;
    const [, component] =
      /^#\/(?:components\/schemas|definitions)\/([\w.-]+)$/.exec(reference) ?? [];
    const plain = component ?? encodeURIComponent(reference.slice(1)).replaceAll(/[^\w.-]/g, '_');
    const names = this.#names[side === 'response' ? 'response' : 'input'];
    let name = plain;
    for (let count = 2; (names.get(name) ?? key) !== key; count++) name = `${plain}_${count}`;
    names.set(name, key);
    return name;
  }

  /** Properties hidden on one side: `readOnly` ones in arguments, `writeOnly` ones in responses. */
  #hidden(schema: unknown, side: Side, found = new Set<string>(), depth = 0): Set<string> {
    const mark = side === 'response' ? 'writeOnly' : 'readOnly';
    const { properties, allOf } = this.#refs.resolve(schema);
    for (const [name, each] of isObject(properties) ? Object.entries(properties) : []) {
      if (this.#isMarked(each, mark)) found.add(name);
    }
    for (const each of Array.isArray(allOf) && depth < 16 ? allOf : []) {
      this.#hidden(each, side, found, depth + 1);
    }
    return found;
  }

  #isMarked(schema: unknown, mark: string, depth = 0): boolean {
    if (!isObject(schema)) return false;
    if (schema[mark] === true) return true;
    const resolved = this.#refs.resolve(schema);
    const { allOf } = resolved;
    if (resolved[mark] === true) return true;
    return (
      depth < 16 &&
      Array.isArray(allOf) &&
      allOf.some((each) => this.#isMarked(each, mark, depth + 1))
    );
  }

  /** Property names required by a schema or its subschemas. */
  #required(schema: unknown, found = new Set<string>(), depth = 0): Set<string> {
    const resolved = this.#refs.resolve(schema);
    for (const name of namesIn(resolved['required'])) found.add(name);
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const parts = resolved[keyword];
      for (const each of Array.isArray(parts) && depth < 8 ? parts : []) {
        this.#required(each, found, depth + 1);
      }
    }
    return found;
  }

  /** Rewrites a schema for tools and records its references. */
  #rewrite(schema: unknown, outer: Scope): unknown {
    if (!isObject(schema)) return schema;
    const { side } = outer;
    if (side === 'form' && isFile(schema)) {
      const isNullable = schema['nullable'] === true || namesIn(schema['type']).includes('null');
      return isNullable ? orNull({ ...fileSchema }) : fileSchema;
    }
    const own = this.#hidden(schema, side);
    const scope = own.size === 0 ? outer : { ...outer, hidden: new Set([...outer.hidden, ...own]) };
    const written: { [keyword: string]: unknown } = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (droppedKeywords.has(keyword) || keyword.startsWith('x-')) continue;
      const kept = this.#keyword(keyword, value, schema, scope);
      if (kept !== undefined) written[keyword] = kept;
    }
    const { exclusiveMinimum, exclusiveMaximum } = schema;
    // In OpenAPI 3.0, `exclusiveMinimum` is a boolean that modifies `minimum`.
    if (exclusiveMinimum === true) makeExclusive(written, 'minimum', 'exclusiveMinimum');
    if (exclusiveMaximum === true) makeExclusive(written, 'maximum', 'exclusiveMaximum');
    return schema['nullable'] === true ? orNull(written) : written;
  }

  /** Rewrites a keyword's value; undefined drops the keyword. */
  #keyword(keyword: string, value: unknown, schema: JsonValue, scope: Scope): unknown {
    const ignore = (reason: string) => {
      this.#onIgnored({ at: scope.at, keyword, reason });
      return undefined;
    };
    if (unsupportedKeywords.has(keyword)) return ignore('is not supported');
    if (keyword === '$ref') {
      if (typeof value !== 'string') return ignore('must be a string');
      return `#/$defs/${escapePointer(this.#reference(value, scope))}`;
    }
    if (keyword === 'description' || keyword === 'title') {
      return typeof value === 'string' ? this.#cut(value, maxFieldDescription) : undefined;
    }
    if (keyword === 'required') {
      if (!Array.isArray(value)) return ignore('must be a list of names');
      const names = namesIn(value).filter((name) => !scope.hidden.has(name));
      return names.length > 0 ? names : undefined;
    }
    if (keyword === 'exclusiveMinimum' || keyword === 'exclusiveMaximum') {
      if (typeof value === 'boolean') return undefined;
    }
    if (keyword === 'pattern') {
      const pattern = typeof value === 'string' ? unicodePattern(value) : undefined;
      if (pattern === undefined) return ignore('must be an ECMA-262 regular expression');
      const reason = this.#problemWith(keyword, pattern);
      return reason === undefined ? pattern : ignore(reason);
    }
    if (mapKeywords.has(keyword)) {
      if (!isObject(value)) return ignore('must be an object');
      return this.#members(keyword, value, scope);
    }
    const within = sameObjectKeywords.has(keyword)
      ? scope
      : { ...scope, hidden: new Set<string>() };
    if (listKeywords.has(keyword)) {
      const isList = Array.isArray(value) && value.length > 0 && value.every(isSchema);
      if (!isList) return ignore('must be a list of schemas');
      return value.map((each) => this.#rewrite(each, within));
    }
    if (schemaKeywords.has(keyword)) {
      if (!isSchema(value)) return ignore('must be a schema');
      return this.#rewrite(value, within);
    }
    // The API applies its own defaults. If a tool sent them with every call, updates would
    // overwrite existing values.
    if (keyword === 'default' && scope.side !== 'response') return value;
    const isNullable = schema['nullable'] === true && keyword === 'enum' && Array.isArray(value);
    const checked = isNullable ? value.filter((each) => each !== null) : value;
    const reason = this.#problemWith(keyword, checked);
    return reason === undefined ? checked : ignore(reason);
  }

  #members(keyword: string, value: JsonValue, scope: Scope): JsonValue {
    const within = { ...scope, hidden: new Set<string>() };
    const members = Object.entries(value).flatMap(([name, each]) => {
      if (keyword === 'properties' && scope.side !== 'response' && scope.hidden.has(name))
        return [];
      const key = keyword === 'patternProperties' ? unicodePattern(name) : name;
      const reason =
        key === undefined || (keyword === 'patternProperties' && this.#problemWith('pattern', key))
          ? 'must be an ECMA-262 regular expression'
          : isSchema(each)
            ? undefined
            : 'must be a schema';
      if (reason !== undefined || key === undefined) {
        this.#onIgnored({ at: scope.at, keyword: `${keyword}/${name}`, reason: reason ?? '' });
        return [];
      }
      const written = this.#rewrite(each, within);
      return [[key, scope.side === 'response' ? written : describeDefault(written)] as const];
    });
    return Object.fromEntries(members);
  }

  /** Returns the name of a referenced definition and records the reference. */
  #reference(reference: string, { side, references, hidden }: Scope): string {
    const target = this.#refs.target(reference);
    const own = hidden.size === 0 ? hidden : this.#hidden(target, side);
    const required = hidden.size === 0 ? hidden : this.#required(target);
    const relevant = [...hidden].filter((name) => required.has(name) && !own.has(name)).toSorted();
    const key = JSON.stringify({ side, reference, hidden: relevant } satisfies DefinitionKey);
    references.add(key);
    return this.#nameOf(key);
  }

  /** Returns the reason why a keyword value is invalid; undefined if valid. */
  #problemWith(keyword: string, value: unknown): string | undefined {
    const key = `${keyword} ${JSON.stringify(value)}`;
    if (this.#checked.has(key)) return this.#checked.get(key);
    const inputSchema = { type: 'object', properties: { at: { [keyword]: value } } } as const;
    let reason: string | undefined;
    try {
      defineTool({ name: 'check', description: '', inputSchema, handler: () => '' });
    } catch (error) {
      const [, why] = /#\/properties\/at\/\S+ (.*)/s.exec((error as Error).message) ?? [];
      reason = (why ?? (error as Error).message).slice(0, 200);
    }
    if (key.length < 200) this.#checked.set(key, reason);
    return reason;
  }
}

/** Identity of a definition: a part of the document seen from one side. */
interface DefinitionKey {
  readonly side: Side;
  readonly reference: string;
  /** Properties hidden by enclosing schemas. */
  readonly hidden: readonly string[];
}

/** Names the arguments. On a collision, a parameter gets its location as prefix: `query_id`. */
function argumentNames(parameters: readonly Parameter[], hasBody: boolean): readonly string[] {
  const given = new Set(parameters.map(({ name }) => name));
  const taken = new Set(hasBody ? ['body'] : []);
  return parameters.map(({ name, in: place }) => {
    let unique = name;
    for (let count = 1; taken.has(unique) || (unique !== name && given.has(unique)); count++) {
      unique = count === 1 ? `${place}_${name}` : `${place}_${name}_${count}`;
    }
    taken.add(unique);
    return unique;
  });
}

/**
 * Moves a default into the description: as a keyword it would be sent with every call that omits
 * the property.
 */
function describeDefault(schema: unknown): unknown {
  if (!isObject(schema) || schema['default'] === undefined) return schema;
  const { default: value, description, ...rest } = schema;
  const text = JSON.stringify(value);
  if (text.length > 100) return { ...rest, ...(description === undefined ? {} : { description }) };
  const before = typeof description === 'string' && description !== '' ? `${description} ` : '';
  return { ...rest, description: `${before}Default: ${text}` };
}

function makeExclusive(
  written: { [keyword: string]: unknown },
  bound: 'minimum' | 'maximum',
  keyword: string,
): void {
  if (written[bound] === undefined) return;
  written[keyword] = written[bound];
  delete written[bound];
}

/** Extends a schema to accept null. */
function orNull(schema: { readonly [keyword: string]: unknown }): unknown {
  const { type, description, title, default: value, ...rest } = schema;
  const isPlain = !['enum', 'const', '$ref', ...sameObjectKeywords].some(
    (keyword) => keyword in rest,
  );
  if (isPlain && (type === undefined || typeof type === 'string')) {
    return type === undefined ? schema : { ...schema, type: [type, 'null'] };
  }
  const said = Object.entries({ title, description, default: value }).filter(
    ([, each]) => each !== undefined,
  );
  const own = type === undefined ? rest : { type, ...rest };
  return { ...Object.fromEntries(said), anyOf: [own, { type: 'null' }] };
}

function isFile({ type, format, contentMediaType, contentEncoding }: JsonValue): boolean {
  const isBytes = format === 'binary' || contentMediaType === 'application/octet-stream';
  const isText = type === 'string' || namesIn(type).includes('string');
  return type === 'file' || (isText && isBytes && contentEncoding === undefined);
}

function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || isObject(value);
}

function isObject(value: unknown): value is JsonValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function lengthOf(schema: unknown): number {
  return JSON.stringify(schema).length;
}
