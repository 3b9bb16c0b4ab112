/**
 * Tool parameters that clients mirror in HTTP headers (`x-mcp-header` in an input schema), so that
 * intermediaries can read them without parsing the body.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters"
 */
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { validateHeader } from '../../../src/protocol/header-values.ts';
import type { JsonSchema } from './json-schema.ts';

export interface MirroredParameter {
  /** Suffix of the header name after `Mcp-Param-`. */
  readonly name: string;
  /** Path of the parameter in the arguments. */
  readonly path: readonly string[];
}

export type MirroredParameters =
  | { readonly ok: true; readonly parameters: readonly MirroredParameter[] }
  /** Clients drop a tool with an invalid declaration. `fault` describes the problem. */
  | { readonly ok: false; readonly fault: string };

const keyword = 'x-mcp-header';

/** A field name of RFC 9110, section 5.1. */
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const types: readonly unknown[] = ['string', 'integer', 'boolean'];

/**
 * Keywords whose subschemas must not declare headers: a schema or a list, or (below) schemas by
 * name.
 */
const elsewhere = [
  ...['items', 'prefixItems', 'contains', 'unevaluatedItems', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
];
const namedElsewhere = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/** Reads the declarations of an input schema. */
export function mirroredParameters(schema: JsonSchema): MirroredParameters {
  const reading = new Reading();
  reading.read(schema, []);
  const { fault, parameters } = reading;
  return fault === undefined ? { ok: true, parameters } : { ok: false, fault };
}

/** Argument value of a mirrored parameter; undefined if absent or null. */
export function mirroredValue(params: JsonObject | undefined, path: readonly string[]): unknown {
  const value = path.reduce<unknown>(
    (of, key) => (isJsonObject(of) && Object.hasOwn(of, key) ? of[key] : undefined),
    params?.['arguments'],
  );
  return value ?? undefined;
}

/**
 * Mismatch between headers and arguments of a call; undefined if they agree.
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
    const fault = validateHeader(header, headers.header(header.toLowerCase()), said);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Maximum number of remembered tools. */
const maxTools = 10_000;

/** Mirrored parameters of the tools that a server has listed. */
export class ListedParameters {
  #of: BoundedMap<unknown, readonly MirroredParameter[]> | undefined = undefined;

  /** Parameters of a tool; undefined if the tool was not listed. */
  of(tool: unknown): readonly MirroredParameter[] | undefined {
    return this.#of?.get(tool);
  }

  /**
   * Adds a listed tool.
   *
   * @returns a problem with its declaration, or undefined
   */
  read({ name, inputSchema }: JsonObject): string | undefined {
    const reading = isJsonObject(inputSchema) ? mirroredParameters(inputSchema) : nothing;
    this.#of ??= new BoundedMap(maxTools);
    this.#of.set(name, reading.ok ? reading.parameters : []);
    return reading.ok ? undefined : reading.fault;
  }

  /** Clears everything after a list change. */
  forget(): void {
    this.#of = undefined;
  }
}

const nothing: MirroredParameters = { ok: true, parameters: [] };

class Reading {
  readonly parameters: MirroredParameter[] = [];
  /** First problem found. */
  fault: string | undefined = undefined;
  readonly #names = new Map<string, string>();
  /** Visited schemas. A schema may contain itself. */
  readonly #read = new Set<object>();

  /**
   * Collects the declarations in a schema.
   *
   * @param path undefined where declarations are not allowed
   */
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
    this.fault = this.#validate(name, type, path);
    if (this.fault !== undefined) return;
    this.#names.set(String(name).toLowerCase(), String(name));
    this.parameters.push({ name: String(name), path: path ?? [] });
  }

  #validate(name: unknown, type: unknown, path: readonly string[] | undefined): string | undefined {
    if (typeof name !== 'string' || !fieldName.test(name)) {
      return `"${keyword}" must be a valid HTTP header name, got ${inspectValue(name)}`;
    }
    const what = `"${keyword}": ${inspectValue(name)}`;
    if (!path || path.length === 0) {
      return `${what} is only allowed on properties reached through "properties"`;
    }
    if (!types.includes(type)) {
      return `${what} is only allowed on a string, integer or boolean; "type" of ${path.join('.')} is ${inspectValue(type)}`;
    }
    const before = this.#names.get(name.toLowerCase());
    return before === undefined
      ? undefined
      : `${what} is declared twice, as ${inspectValue(before)}`;
  }
}
