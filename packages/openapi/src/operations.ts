/** The operations of a document: how each is called, filtered and described. */
import { createHash } from 'node:crypto';
import type { JsonValue } from './document.ts';

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** An operation, as filters and callbacks see it. */
export interface Operation {
  /** In capitals, such as `GET`. */
  readonly method: string;
  /** As the document has it, such as `/pets/{petId}`. */
  readonly path: string;
  /** Undefined if the document gives none. */
  readonly operationId: string | undefined;
  /** The document's groups that it is in. */
  readonly tags: readonly string[];
  /** Whether the document advises against it. */
  readonly isDeprecated: boolean;
}

/** An operation with what the document says of it. */
export interface DocumentedOperation extends Operation {
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body: DocumentedBody | undefined;
  /** The schema of the answer if all goes well; undefined if it has none in JSON. */
  readonly answer: unknown;
  /** Its own servers, else those of its path, else the document's. */
  readonly servers: readonly JsonValue[];
}

/** A parameter in the path, the query, a header or a cookie. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly style: string;
  readonly isExploded: boolean;
  /** Whether reserved characters stay as they are in a query. */
  readonly allowsReserved: boolean;
  /** Whether it is written as JSON. */
  readonly isJson: boolean;
}

/** What a request sends. */
export interface DocumentedBody {
  readonly mediaType: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  /** Of a form: how its fields are written, by name. */
  readonly encoding: { readonly [field: string]: JsonValue };
}

/** Follows references within a document. */
export class Pointers {
  readonly document: JsonValue;

  constructor(document: JsonValue) {
    this.document = document;
  }

  /** @throws {Error} the reference leads nowhere */
  at(reference: string): unknown {
    const parts = reference.slice(1).split('/').slice(1).map(unescaped);
    let value: unknown = this.document;
    for (const part of parts) {
      const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, part);
      if (!isThere || !reference.startsWith('#')) {
        throw new Error(`the reference "${reference}" leads nowhere`);
      }
      value = (value as JsonValue)[part];
    }
    return value;
  }

  /** What a value is, if it is a reference to that. @throws {Error} it leads nowhere, or in a circle */
  resolved(value: unknown): JsonValue {
    let found = value;
    for (let hops = 0; hops < 32; hops++) {
      const { $ref } = (found ?? {}) as JsonValue;
      if (typeof $ref !== 'string') return (found ?? {}) as JsonValue;
      found = this.at($ref);
    }
    throw new Error('a reference leads in a circle');
  }
}

function unescaped(part: string): string {
  return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** An operation that cannot be used, and why. */
export interface Unusable {
  /** `GET /pets` */
  readonly operation: string;
  readonly reason: string;
}

/** All operations of a document that somebody wants, and those that are wrong. */
export function operationsOf(
  pointers: Pointers,
  isWanted: (operation: Operation) => boolean,
): { readonly operations: readonly DocumentedOperation[]; readonly unusable: readonly Unusable[] } {
  const { paths, servers } = pointers.document;
  const operations: DocumentedOperation[] = [];
  const unusable: Unusable[] = [];
  for (const [path, item] of Object.entries((paths ?? {}) as JsonValue)) {
    let shared: JsonValue = {};
    for (const method of methods) {
      const name = `${method.toUpperCase()} ${path}`;
      try {
        shared = pointers.resolved(item);
        const given = shared[method] as JsonValue | undefined;
        if (!given) continue;
        const brief = briefly(method, path, given);
        if (isWanted(brief)) {
          operations.push(
            documented(
              brief,
              given,
              { ...shared, servers: shared['servers'] ?? servers },
              pointers,
            ),
          );
        }
      } catch (error) {
        unusable.push({ operation: name, reason: (error as Error).message });
      }
    }
  }
  return { operations, unusable };
}

function briefly(method: string, path: string, given: JsonValue): Operation {
  const { operationId, tags, deprecated } = given;
  return {
    method: method.toUpperCase(),
    path,
    operationId: typeof operationId === 'string' && operationId !== '' ? operationId : undefined,
    tags: Array.isArray(tags) ? tags.map(String) : [],
    isDeprecated: deprecated === true,
  };
}

function documented(
  brief: Operation,
  given: JsonValue,
  shared: JsonValue,
  pointers: Pointers,
): DocumentedOperation {
  const byPlace = new Map<string, Parameter>();
  const bodies = given['requestBody'] ? [pointers.resolved(given['requestBody'])] : [];
  for (const each of [...listOf(shared['parameters']), ...listOf(given['parameters'])]) {
    const described = pointers.resolved(each);
    if (isBody(described)) {
      bodies.push(described);
      continue;
    }
    const parameter = parameterOf(described);
    if (parameter) byPlace.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const [body, another] = bodies;
  if (another) throw new Error('it has more than one body');
  const missing = [...brief.path.matchAll(/\{([^}]+)\}/g)].find(
    ([, name]) => !byPlace.has(`path ${name}`),
  );
  if (missing) throw new Error(`the path has ${missing[0]}, which no parameter describes`);
  return {
    ...brief,
    summary: textOf(given['summary'] ?? shared['summary']),
    description: textOf(given['description'] ?? shared['description']),
    parameters: [...byPlace.values()],
    body: body && bodyOf(body),
    answer: answerOf(given['responses'], pointers),
    servers: listOf(given['servers'] ?? shared['servers']) as readonly JsonValue[],
  };
}

/** Swagger 2.0 has bodies among the parameters. One that operations share is a body there still. */
function isBody({ name, in: place, content }: JsonValue): boolean {
  return name === undefined && place === undefined && content !== undefined;
}

/** Headers that say how a message is written, or who sends it, do not count as parameters. */
const notParameters = new Set(['accept', 'content-type', 'authorization']);

function parameterOf(given: JsonValue): Parameter | undefined {
  const { name, in: place, content } = given;
  if (typeof name !== 'string') throw new Error('a parameter has no name');
  if (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie') {
    throw new Error(`the parameter "${name}" is in ${JSON.stringify(place)}`);
  }
  if (place === 'header' && notParameters.has(name.toLowerCase())) return undefined;
  const [media] = Object.values((content ?? {}) as JsonValue) as JsonValue[];
  const { style = place === 'query' || place === 'cookie' ? 'form' : 'simple' } = given;
  return {
    name,
    in: place,
    isRequired: place === 'path' || given['required'] === true,
    description: textOf(given['description']) || undefined,
    schema: media ? media['schema'] : given['schema'],
    style: String(style),
    isExploded: (given['explode'] ?? style === 'form') === true,
    allowsReserved: given['allowReserved'] === true,
    isJson: media !== undefined,
  };
}

const wanted = [
  /^application\/json\b/i,
  /[/+]json\b/i,
  /^application\/x-www-form-urlencoded/i,
  /^multipart\/form-data/i,
  /^text\//i,
  /./,
];

/** Of several forms of a content, the one that is written most easily. */
function preferred(content: unknown): readonly [string, JsonValue] | undefined {
  const all = Object.entries((content ?? {}) as JsonValue);
  for (const pattern of wanted) {
    const found = all.find(([type]) => pattern.test(type));
    if (found) return [found[0], (found[1] ?? {}) as JsonValue];
  }
  return undefined;
}

function bodyOf(given: JsonValue): DocumentedBody | undefined {
  const [mediaType, media] = preferred(given['content']) ?? [];
  if (mediaType === undefined || !media) return undefined;
  return {
    mediaType,
    isRequired: given['required'] === true,
    description: textOf(given['description']) || undefined,
    schema: media['schema'] ?? {},
    encoding: (media['encoding'] ?? {}) as DocumentedBody['encoding'],
  };
}

/** The schema of the first successful answer that is JSON. */
function answerOf(responses: unknown, pointers: Pointers): unknown {
  const all = Object.entries((responses ?? {}) as JsonValue);
  const [, first] = all.find(([status]) => /^2(\d\d|XX)$/i.test(status)) ?? [];
  if (!first) return undefined;
  const [type = '', media] = preferred(pointers.resolved(first)['content']) ?? [];
  return /[/+]json\b/i.test(type) ? media?.['schema'] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** How long a tool's name may be: what all hosts take. */
const maxName = 64;

/**
 * A tool's name for an operation, of letters, digits, `_` and `-`. It depends on the operation's own id alone, or
 * on its method and path: what is added to a document renames nothing. If characters had to go, a digest of the
 * original tells it from others.
 */
export function toolNameOf({ operationId, method, path }: Operation): string {
  const original = operationId ?? `${method.toLowerCase()} ${path}`;
  const plain = original.replaceAll(/[^A-Za-z0-9_-]+/g, '_').replaceAll(/^_+|_+$/g, '');
  if (plain === original && plain.length <= maxName) return plain;
  const digest = createHash('sha256').update(original).digest('hex').slice(0, 8);
  return `${plain.slice(0, maxName - digest.length - 1)}_${digest}`;
}

/** A text for a model: without markup that only people need, and in bounds. */
export function cutForModels(text: string, max: number): string {
  const plain = text
    .replaceAll(/<[^>]{1,200}>/g, '')
    .replaceAll(/!?\[([^\]]{0,200})\]\([^)]{0,500}\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (plain.length <= max) return plain;
  const sentence = plain.slice(0, max).lastIndexOf('. ');
  if (sentence > max / 2) return plain.slice(0, sentence + 1);
  return `${plain.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/**
 * Whether an operation is named by any of these: its `operationId`, `METHOD`, its path, `METHOD path`, or
 * `tag:NAME`; `*` stands for any characters.
 */
export function isNamedBy(names: readonly string[], operation: Operation): boolean {
  const { method, path, operationId, tags } = operation;
  const called = [method, path, `${method} ${path}`, ...(operationId ? [operationId] : [])];
  const all = [...called, ...tags.map((tag) => `tag:${tag}`)];
  return names.some((name) => all.some((each) => matches(name, each)));
}

function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() ?? '';
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
