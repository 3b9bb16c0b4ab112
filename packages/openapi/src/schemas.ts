/**
 * Schemas of tools, made from those in a document. What a schema refers to comes with it as a definition, and refers to others
 * in the same way: a type that contains itself is finite. Each part of a document is rewritten once for all tools.
 */
import type { JsonValue } from './document.ts';
import type { DocumentedOperation, Pointers } from './operations.ts';

/** A part of a document that schemas refer to. */
interface Definition {
  readonly name: string;
  readonly schema: unknown;
  /** What it refers to itself. */
  readonly references: ReadonlySet<string>;
  /** As JSON. */
  readonly characters: number;
}

/** Where an argument of a tool goes. */
export interface Argument {
  readonly name: string;
  readonly to: 'body' | DocumentedOperation['parameters'][number];
}

/** An object's schema. */
export type SchemaOfObject = JsonValue & { readonly type: 'object' };

/** The schema of what a tool takes, and where each argument goes. */
export interface ToolInput {
  readonly schema: SchemaOfObject;
  readonly arguments: readonly Argument[];
}

/** The schema of what a tool gives. */
export interface DocumentedAnswer {
  readonly schema: SchemaOfObject;
  /** Whether the answer is the member `result` of what the tool gives: it is not an object itself. */
  readonly isWrapped: boolean;
}

/** Members whose members are schemas by names. */
const byName = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'dependentSchemas',
  'definitions',
]);

/** Members that are values, not schemas. */
const values = new Set(['enum', 'const', 'default', 'required', 'dependentRequired', 'type']);

/** Members that only documents need. */
const dropped = new Set([
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  'examples',
  '$schema',
  '$id',
  '$anchor',
  'deprecated',
]);

/** What a description of a field may have, characters. */
const maxFieldDescription = 300;

/** A part of a file in a form: JSON can hold it as text alone. */
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
  readonly #definitions = new Map<string, Definition>();

  constructor(pointers: Pointers, cut: (text: string, max: number) => string) {
    this.#pointers = pointers;
    this.#cut = cut;
  }

  /** @throws {Error} a reference leads nowhere */
  input({ parameters, body }: DocumentedOperation): ToolInput {
    const references = new Set<string>();
    const taken = new Set<string>(body ? ['body'] : []);
    const properties: { [name: string]: unknown } = {};
    const all: Argument[] = [];
    const required: string[] = [];
    for (const parameter of parameters) {
      const { name: given, in: place, isRequired, description, schema } = parameter;
      const name = taken.has(given) ? `${place}_${given}` : given;
      taken.add(name);
      const written = this.#rewritten(schema ?? { type: 'string' }, references);
      properties[name] = this.#described(written, description);
      if (isRequired) required.push(name);
      all.push({ name, to: parameter });
    }
    if (body) {
      properties['body'] = this.#described(
        this.#rewritten(body.schema, references),
        body.description,
      );
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
   * @returns undefined if it is longer than `maxCharacters`, or says nothing
   * @throws {Error} a reference leads nowhere
   */
  answer(schema: unknown, maxCharacters: number): DocumentedAnswer | undefined {
    if (typeof schema !== 'object' || schema === null) return undefined;
    const references = new Set<string>();
    const written = this.#rewritten(schema, references) as JsonValue;
    const all = this.#reached(references);
    const characters = all.reduce((sum, each) => sum + each.characters, lengthOf(written));
    if (characters > maxCharacters) return undefined;
    const definitions = this.#defined(references);
    if (this.#isObject(schema)) {
      return { schema: { ...written, type: 'object', ...definitions }, isWrapped: false };
    }
    const properties = { result: written };
    const wrapped = { type: 'object' as const, properties, required: ['result'], ...definitions };
    return { schema: wrapped, isWrapped: true };
  }

  /** Whether a schema takes objects alone. */
  #isObject(schema: unknown, seen = new Set<unknown>()): boolean {
    if (typeof schema !== 'object' || schema === null) return false;
    const resolved = this.#pointers.resolved(schema);
    if (seen.has(resolved)) return false;
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

  /** All that these references lead to. */
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

  #definition(reference: string): Definition {
    let known = this.#definitions.get(reference);
    if (known) return known;
    const references = new Set<string>();
    const schema = this.#rewritten(this.#pointers.at(reference), references);
    known = { name: nameOf(reference), schema, references, characters: lengthOf(schema) };
    this.#definitions.set(reference, known);
    return known;
  }

  /** A schema without what only documents need; its references lead to definitions, and are noted. */
  #rewritten(schema: unknown, references: Set<string>): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#rewritten(each, references));
    if (typeof schema !== 'object' || schema === null) return schema;
    if (isFile(schema as JsonValue)) return fileSchema;
    const written: { [member: string]: unknown } = {};
    for (const [member, value] of Object.entries(schema)) {
      if (dropped.has(member) || member.startsWith('x-')) continue;
      if (member === '$ref' && typeof value === 'string') {
        references.add(value);
        written[member] = `#/$defs/${nameOf(value)}`;
      } else if (member === 'description' && typeof value === 'string') {
        written[member] = this.#cut(value, maxFieldDescription);
      } else if (values.has(member)) written[member] = value;
      else if (byName.has(member) && typeof value === 'object' && value !== null) {
        const members = Object.entries(value as JsonValue);
        written[member] = Object.fromEntries(
          members.map(([name, each]) => [name, this.#rewritten(each, references)]),
        );
      } else written[member] = this.#rewritten(value, references);
    }
    return written;
  }
}

function isFile({ type, format, contentMediaType, contentEncoding }: JsonValue): boolean {
  const isBytes = format === 'binary' || contentMediaType === 'application/octet-stream';
  return type === 'string' && isBytes && contentEncoding === undefined;
}

/** `#/components/schemas/Pet` is `Pet`; anything else keeps all of its path. */
function nameOf(reference: string): string {
  const [, component] = /^#\/components\/schemas\/([A-Za-z0-9_.-]+)$/.exec(reference) ?? [];
  return component ?? encodeURIComponent(reference.slice(2)).replaceAll(/[%~]/g, '_');
}

function lengthOf(schema: unknown): number {
  return JSON.stringify(schema).length;
}
