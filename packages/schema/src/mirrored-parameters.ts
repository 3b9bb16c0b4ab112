/**
 * Parameters of a tool that its clients repeat in HTTP headers, so that what stands between them and
 * the server can read them without the body: `x-mcp-header` in an input schema.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters"
 */
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { headerFault } from '../../../src/protocol/header-values.ts';
import type { JsonSchema } from './json-schema.ts';

export interface MirroredParameter {
  /** What follows `Mcp-Param-` in the header's name. */
  readonly name: string;
  /** The keys that lead to its value in the arguments. */
  readonly path: readonly string[];
}

export type MirroredParameters =
  | { readonly ok: true; readonly parameters: readonly MirroredParameter[] }
  /** Clients would leave the tool out. `fault` says which declaration is wrong, and why. */
  | { readonly ok: false; readonly fault: string };

const keyword = 'x-mcp-header';

/** A field name of RFC 9110, section 5.1. */
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const types: readonly unknown[] = ['string', 'integer', 'boolean'];

/** Keywords with schemas in which nothing can be declared: one, a list, or an object of them. */
const elsewhere = [
  ...['items', 'prefixItems', 'contains', 'unevaluatedItems', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
];
const namedElsewhere = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/** Reads what an input schema declares. */
export function mirroredParameters(schema: JsonSchema): MirroredParameters {
  const reading = new Reading();
  reading.read(schema, []);
  const { fault, parameters } = reading;
  return fault === undefined ? { ok: true, parameters } : { ok: false, fault };
}

/** What the arguments of a call say for a parameter; undefined for nothing. */
export function mirroredValue(params: JsonObject | undefined, path: readonly string[]): unknown {
  const value = path.reduce<unknown>(
    (of, key) => (isJsonObject(of) && Object.hasOwn(of, key) ? of[key] : undefined),
    params?.['arguments'],
  );
  return value ?? undefined;
}

/**
 * What is wrong with the headers that repeat the parameters of a call; undefined if nothing is.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Server Validation"
 */
export function parameterMismatch(
  headers: { header(name: string): string | undefined },
  parameters: readonly MirroredParameter[],
  params: JsonObject | undefined,
): string | undefined {
  for (const { name, path } of parameters) {
    const header = `Mcp-Param-${name}`;
    const said = { value: mirroredValue(params, path), what: `the argument ${path.join('.')}` };
    const fault = headerFault(header, headers.header(header.toLowerCase()), said);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The most tools of a list. */
const maxTools = 10_000;

/** What the tools declare that a server has listed. */
export class ListedParameters {
  #of: BoundedMap<unknown, readonly MirroredParameter[]> | undefined = undefined;

  /** The parameters of a tool; undefined if no list has named it. */
  of(tool: unknown): readonly MirroredParameter[] | undefined {
    return this.#of?.get(tool);
  }

  /** Reads a tool of a list. @returns what is wrong with its declaration; undefined if nothing is */
  read({ name, inputSchema }: JsonObject): string | undefined {
    const reading = isJsonObject(inputSchema) ? mirroredParameters(inputSchema) : nothing;
    this.#of ??= new BoundedMap(maxTools);
    this.#of.set(name, reading.ok ? reading.parameters : []);
    return reading.ok ? undefined : reading.fault;
  }

  /** The list has changed. */
  forget(): void {
    this.#of = undefined;
  }
}

const nothing: MirroredParameters = { ok: true, parameters: [] };

class Reading {
  readonly parameters: MirroredParameter[] = [];
  /** The first one. */
  fault: string | undefined = undefined;
  readonly #names = new Map<string, string>();
  /** A schema may hold itself. */
  readonly #read = new Set<object>();

  /** @param path undefined if nothing may be declared here */
  read(schema: unknown, path: readonly string[] | undefined): void {
    if (!isJsonObject(schema) || this.fault !== undefined) return;
    const name = schema[keyword];
    if (name !== undefined) this.#declare(name, schema['type'], path);
    if (this.#read.has(schema)) return;
    this.#read.add(schema);
    const { properties } = schema;
    for (const [key, part] of isJsonObject(properties) ? Object.entries(properties) : []) {
      this.read(part, path && [...path, key]);
    }
    const parts = [
      ...elsewhere.flatMap((key) => schema[key]),
      ...namedElsewhere.flatMap((key) => Object.values((schema[key] ?? {}) as JsonSchema)),
    ];
    for (const part of parts) this.read(part, undefined);
  }

  #declare(name: unknown, type: unknown, path: readonly string[] | undefined): void {
    this.fault = this.#faultOf(name, type, path);
    if (this.fault !== undefined) return;
    this.#names.set(String(name).toLowerCase(), String(name));
    this.parameters.push({ name: String(name), path: path ?? [] });
  }

  #faultOf(name: unknown, type: unknown, path: readonly string[] | undefined): string | undefined {
    if (typeof name !== 'string' || !fieldName.test(name)) {
      return `"${keyword}" must be the name of an HTTP header, got ${inspectValue(name)}`;
    }
    const what = `"${keyword}": ${inspectValue(name)}`;
    if (!path || path.length === 0) {
      return `${what} may only stand at a property that "properties" alone lead to`;
    }
    if (!types.includes(type)) {
      return `${what} may only stand at a string, an integer or a boolean; the "type" of ${path.join('.')} is ${inspectValue(type)}`;
    }
    const before = this.#names.get(name.toLowerCase());
    return before === undefined
      ? undefined
      : `${what} is declared twice, as ${inspectValue(before)}`;
  }
}
