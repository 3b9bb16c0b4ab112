/**
 * Schemas of tools, made from those in a document. A schema's references become definitions in `$defs`, so that a type
 * that contains itself is finite. Each part of a document is rewritten once for all tools.
 */
import { defineTool } from 'mcp-actors';
import type { JsonValue } from './document.ts';
import type { DocumentedOperation, Parameter } from './operations.ts';
import { unicodePattern } from './patterns.ts';
import type { Pointers } from './pointers.ts';

/** A part of a document that schemas refer to. */
interface Definition {
  readonly name: string;
  readonly schema: unknown;
  /** Keys of the definitions it refers to. */
  readonly references: ReadonlySet<string>;
  /** Length as JSON. */
  readonly characters: number;
}

/** The destination of a tool's argument. */
export interface Argument {
  readonly name: string;
  readonly to: 'body' | Parameter;
}

/** An object's schema. */
export type SchemaOfObject = JsonValue & { readonly type: 'object' };

/** The schema of a tool's arguments, and their destinations. */
export interface ToolInput {
  readonly schema: SchemaOfObject;
  readonly arguments: readonly Argument[];
}

/** The schema of a tool's results. */
export interface DocumentedAnswer {
  readonly schema: SchemaOfObject;
  /** True if the response is the member `result` of the tool's result: it is not an object. */
  readonly isWrapped: boolean;
}

/** A keyword of a schema that is left out. */
export interface IgnoredKeyword {
  /** Operation or part of the document. */
  readonly at: string;
  readonly keyword: string;
  readonly reason: string;
}

/** Use of a schema: arguments, forms (in which files may be), responses. */
type Side = 'argument' | 'form' | 'response';

/** State of rewriting one schema and those within it. */
interface Scope {
  readonly side: Side;
  /** Operation or part of the document, for messages. */
  readonly at: string;
  /** Keys of the definitions that are referred to; rewriting adds to it. */
  readonly references: Set<string>;
  /** Members that the other schemas of the same object hide on this side. */
  readonly hidden: ReadonlySet<string>;
}

/** Keywords whose members are schemas by name. */
const byName = new Set(['properties', 'patternProperties', 'dependentSchemas']);

/** Keywords with a list of schemas. */
const listed = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);

/** Keywords whose schemas apply to the same object. */
const composing = new Set(['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'not']);

/** Keywords with one schema. */
const single = new Set([
  ...['items', 'contains', 'additionalProperties', 'propertyNames', 'not', 'if', 'then', 'else'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]);

/** Keywords that only documents need, or that references have replaced. */
const dropped = new Set([
  ...['discriminator', 'xml', 'externalDocs', 'example', 'examples', 'deprecated', 'nullable'],
  ...['$schema', '$id', '$anchor', '$comment', '$defs', 'definitions', '$dynamicAnchor'],
  ...['readOnly', 'writeOnly', 'contentSchema'],
]);

/** Keywords without a form here. */
const unknown = new Set(['$dynamicRef', '$recursiveRef', 'dependencies', 'additionalItems']);

const maxFieldDescription = 300;

/** A file of a form: JSON can hold it as text alone. */
const fileSchema = {
  type: 'object',
  description: 'A file',
  properties: {
    filename: { type: 'string' },
    mimeType: { type: 'string' },
    base64: { type: 'string', description: 'The content in base64' },
  },
  required: ['base64'],
  additionalProperties: false,
};

export class ToolSchemas {
  readonly #pointers: Pointers;
  readonly #cut: (text: string, max: number) => string;
  readonly #onIgnored: (ignored: IgnoredKeyword) => void;
  readonly #definitions = new Map<string, Definition>();
  /** Keys of definitions, by the names they have in arguments and in responses. */
  readonly #names = { input: new Map<string, string>(), response: new Map<string, string>() };
  /** Reasons against keywords with these values; undefined if there is none. */
  readonly #checked = new Map<string, string | undefined>();

  constructor(
    pointers: Pointers,
    cut: (text: string, max: number) => string,
    onIgnored: (ignored: IgnoredKeyword) => void,
  ) {
    this.#pointers = pointers;
    this.#cut = cut;
    this.#onIgnored = onIgnored;
  }

  /** @throws {Error} a reference leads nowhere */
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
      const written = this.#rewritten(schema ?? { type: 'string' }, scope);
      properties[name] = withoutDefault(this.#described(written, description));
      if (isRequired) required.push(name);
      all.push({ name, to: parameter });
    }
    if (body) {
      const side: Side = /json|xml|urlencoded|^text\//i.test(body.mediaType) ? 'argument' : 'form';
      const isEmpty = Object.keys(this.#pointers.resolved(body.schema)).length === 0;
      const written =
        side === 'form' && isEmpty && !body.mediaType.startsWith('multipart/')
          ? fileSchema
          : this.#rewritten(body.schema, { ...scope, side });
      properties['body'] = withoutDefault(this.#described(written, body.description));
      if (body.isRequired) required.push('body');
      all.push({ name: 'body', to: 'body' });
    }
    const schema = {
      type: 'object' as const,
      properties,
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
      ...this.#defined(references),
    };
    return { schema, arguments: all };
  }

  /**
   * The schema of a tool's structured results.
   *
   * @param schemas those of all successful responses
   * @param at the operation
   * @returns undefined without a schema, or if it is longer than `maxCharacters`
   * @throws {Error} a reference leads nowhere
   */
  answer(
    schemas: readonly unknown[],
    at: string,
    maxCharacters: number,
  ): DocumentedAnswer | undefined {
    const isBinary = (schema: unknown) => isFile(this.#pointers.resolved(schema));
    if (schemas.length === 0 || schemas.some(isBinary)) return undefined;
    const references = new Set<string>();
    const scope: Scope = { side: 'response', at, references, hidden: new Set() };
    const all = schemas.map((schema) => this.#rewritten(schema, scope) as JsonValue);
    const distinct = [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
    const characters = this.#reached(references).reduce(
      (sum, each) => sum + each.characters,
      lengthOf(distinct),
    );
    if (characters > maxCharacters) return undefined;
    const definitions = this.#defined(references);
    const [only = {}] = distinct;
    const written = distinct.length === 1 ? only : { anyOf: distinct };
    if (schemas.every((schema) => this.#isObject(schema))) {
      return { schema: { ...written, type: 'object', ...definitions }, isWrapped: false };
    }
    const properties = { result: written };
    const wrapped = { type: 'object' as const, properties, required: ['result'], ...definitions };
    return { schema: wrapped, isWrapped: true };
  }

  /** True for a schema that takes objects alone. */
  #isObject(schema: unknown, seen = new Set<unknown>()): boolean {
    const { nullable } = (schema ?? {}) as JsonValue;
    const resolved = this.#pointers.resolved(schema);
    if (nullable === true || resolved['nullable'] === true || seen.has(resolved)) return false;
    seen.add(resolved);
    const { type, allOf } = resolved;
    if (type === 'object') return true;
    return Array.isArray(allOf) && allOf.some((each) => this.#isObject(each, seen));
  }

  #described(schema: unknown, description: string | undefined): unknown {
    if (description === undefined || typeof schema !== 'object') return schema;
    return { ...schema, description: this.#cut(description, maxFieldDescription) };
  }

  #defined(references: ReadonlySet<string>): { readonly $defs?: JsonValue } {
    const reached = this.#reached(references);
    if (reached.length === 0) return {};
    return { $defs: Object.fromEntries(reached.map(({ name, schema }) => [name, schema])) };
  }

  /** The definitions that these keys lead to. */
  #reached(references: ReadonlySet<string>): readonly Definition[] {
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
    const schema = this.#rewritten(this.#pointers.at(reference), scope);
    const name = this.#nameOf(key);
    const definition = { name, schema, references, characters: lengthOf(schema) };
    this.#definitions.set(key, definition);
    return definition;
  }

  /** `#/components/schemas/Pet` is `Pet`; any other reference keeps its path. */
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

  /** Members of an object that are not of this side: `readOnly` in arguments, `writeOnly` in responses. */
  #hidden(schema: unknown, side: Side, found = new Set<string>(), depth = 0): Set<string> {
    const mark = side === 'response' ? 'writeOnly' : 'readOnly';
    const { properties, allOf } = this.#pointers.resolved(schema);
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
    const resolved = this.#pointers.resolved(schema);
    const { allOf } = resolved;
    if (resolved[mark] === true) return true;
    return (
      depth < 16 &&
      Array.isArray(allOf) &&
      allOf.some((each) => this.#isMarked(each, mark, depth + 1))
    );
  }

  /** Names that a schema, or one that it consists of, requires. */
  #required(schema: unknown, found = new Set<string>(), depth = 0): Set<string> {
    const resolved = this.#pointers.resolved(schema);
    for (const name of namesIn(resolved['required'])) found.add(name);
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const parts = resolved[keyword];
      for (const each of Array.isArray(parts) && depth < 8 ? parts : []) {
        this.#required(each, found, depth + 1);
      }
    }
    return found;
  }

  /** A schema for tools: its references lead to definitions, and are noted. */
  #rewritten(schema: unknown, outer: Scope): unknown {
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
      if (dropped.has(keyword) || keyword.startsWith('x-')) continue;
      const kept = this.#keyword(keyword, value, schema, scope);
      if (kept !== undefined) written[keyword] = kept;
    }
    const { exclusiveMinimum, exclusiveMaximum } = schema;
    // OpenAPI 3.0 has a number and a boolean in place of one number.
    if (exclusiveMinimum === true) exclusive(written, 'minimum', 'exclusiveMinimum');
    if (exclusiveMaximum === true) exclusive(written, 'maximum', 'exclusiveMaximum');
    return schema['nullable'] === true ? orNull(written) : written;
  }

  /** A keyword's value for tools; undefined leaves the keyword out. */
  #keyword(keyword: string, value: unknown, schema: JsonValue, scope: Scope): unknown {
    const ignore = (reason: string) => {
      this.#onIgnored({ at: scope.at, keyword, reason });
      return undefined;
    };
    if (unknown.has(keyword)) return ignore('is not supported');
    if (keyword === '$ref') {
      if (typeof value !== 'string') return ignore('must be a string');
      return `#/$defs/${pointerPart(this.#reference(value, scope))}`;
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
      if (pattern === undefined) return ignore('must be a regular expression of ECMA-262');
      const reason = this.#reasonAgainst(keyword, pattern);
      return reason === undefined ? pattern : ignore(reason);
    }
    if (byName.has(keyword)) {
      if (!isObject(value)) return ignore('must be an object');
      return this.#members(keyword, value, scope);
    }
    const within = composing.has(keyword) ? scope : { ...scope, hidden: new Set<string>() };
    if (listed.has(keyword)) {
      const isList = Array.isArray(value) && value.length > 0 && value.every(isSchema);
      if (!isList) return ignore('must be a list of schemas');
      return value.map((each) => this.#rewritten(each, within));
    }
    if (single.has(keyword)) {
      if (!isSchema(value)) return ignore('must be a schema');
      return this.#rewritten(value, within);
    }
    // The API applies it; a tool would send it with each call, and so overwrite what is there.
    if (keyword === 'default' && scope.side !== 'response') return value;
    const isNullable = schema['nullable'] === true && keyword === 'enum' && Array.isArray(value);
    const checked = isNullable ? value.filter((each) => each !== null) : value;
    const reason = this.#reasonAgainst(keyword, checked);
    return reason === undefined ? checked : ignore(reason);
  }

  #members(keyword: string, value: JsonValue, scope: Scope): JsonValue {
    const within = { ...scope, hidden: new Set<string>() };
    const members = Object.entries(value).flatMap(([name, each]) => {
      if (keyword === 'properties' && scope.side !== 'response' && scope.hidden.has(name))
        return [];
      const key = keyword === 'patternProperties' ? unicodePattern(name) : name;
      const reason =
        key === undefined ||
        (keyword === 'patternProperties' && this.#reasonAgainst('pattern', key))
          ? 'must be a regular expression of ECMA-262'
          : isSchema(each)
            ? undefined
            : 'must be a schema';
      if (reason !== undefined || key === undefined) {
        this.#onIgnored({ at: scope.at, keyword: `${keyword}/${name}`, reason: reason ?? '' });
        return [];
      }
      const written = this.#rewritten(each, within);
      return [[key, scope.side === 'response' ? written : withoutDefault(written)] as const];
    });
    return Object.fromEntries(members);
  }

  /** The name of a definition, which is noted. */
  #reference(reference: string, { side, references, hidden }: Scope): string {
    const target = this.#pointers.at(reference);
    const own = hidden.size === 0 ? hidden : this.#hidden(target, side);
    const required = hidden.size === 0 ? hidden : this.#required(target);
    const relevant = [...hidden].filter((name) => required.has(name) && !own.has(name)).toSorted();
    const key = JSON.stringify({ side, reference, hidden: relevant } satisfies DefinitionKey);
    references.add(key);
    return this.#nameOf(key);
  }

  /** The reason why a schema may not have a keyword with this value. */
  #reasonAgainst(keyword: string, value: unknown): string | undefined {
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

/** Identity of a definition: a part of the document, as one side sees it. */
interface DefinitionKey {
  readonly side: Side;
  readonly reference: string;
  /** Members that are hidden by the schemas around it. */
  readonly hidden: readonly string[];
}

/** Names of arguments. A parameter whose name is taken has its place before it: `query_id`. */
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

/** A default is told in words: a schema's would be sent with each call that does not give the member. */
function withoutDefault(schema: unknown): unknown {
  if (!isObject(schema) || schema['default'] === undefined) return schema;
  const { default: value, description, ...rest } = schema;
  const text = JSON.stringify(value);
  if (text.length > 100) return { ...rest, ...(description === undefined ? {} : { description }) };
  const before = typeof description === 'string' && description !== '' ? `${description} ` : '';
  return { ...rest, description: `${before}Default: ${text}` };
}

function exclusive(
  written: { [keyword: string]: unknown },
  bound: 'minimum' | 'maximum',
  keyword: string,
): void {
  if (written[bound] === undefined) return;
  written[keyword] = written[bound];
  delete written[bound];
}

/** A schema that accepts null, too. */
function orNull(schema: { readonly [keyword: string]: unknown }): unknown {
  const { type, description, title, default: value, ...rest } = schema;
  const isPlain = !['enum', 'const', '$ref', ...composing].some((keyword) => keyword in rest);
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

function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function lengthOf(schema: unknown): number {
  return JSON.stringify(schema).length;
}
