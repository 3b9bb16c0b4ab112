/** Operations of a document: parameters, bodies, responses and filters. */
import type { JsonValue } from './document.ts';
import { isJsonType, isXmlType } from './media.ts';
import type { Pointers } from './pointers.ts';
import { fromSwagger2, serversOfSwagger2 } from './swagger2.ts';

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
  /** Schemas of the successful responses; empty if one of them is not JSON or has no schema. */
  readonly answers: readonly unknown[];
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
  /** The media type of a parameter that has one in place of a style. */
  readonly mediaType: string | undefined;
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

/** An operation that cannot be used, and why. */
export interface Unusable {
  /** `GET /pets` */
  readonly operation: string;
  readonly reason: string;
}

/** The operations of a document. */
export interface DocumentOperations {
  /** All of them, also those that nobody wants. */
  readonly all: readonly Operation[];
  /** Those that are wanted and usable. */
  readonly operations: readonly DocumentedOperation[];
  readonly unusable: readonly Unusable[];
}

/**
 * Reads the operations of a document. Each is read by itself: a wrong one is reported and left out.
 *
 * @param base URL of the document
 */
export function operationsOf(
  pointers: Pointers,
  base: URL | undefined,
  isWanted: (operation: Operation) => boolean,
): DocumentOperations {
  const { document } = pointers;
  const isSwagger2 = document['openapi'] === undefined;
  const servers = isSwagger2 ? serversOfSwagger2(document, base) : document['servers'];
  const all: Operation[] = [];
  const operations: DocumentedOperation[] = [];
  const unusable: Unusable[] = [];
  for (const [path, item] of Object.entries((document['paths'] ?? {}) as JsonValue)) {
    if (path.startsWith('x-')) continue;
    for (const method of methods) {
      try {
        const shared = pointers.resolved(item);
        const written = shared[method];
        if (typeof written !== 'object' || written === null) continue;
        const brief = briefly(method, path, written as JsonValue);
        all.push(brief);
        if (!isWanted(brief)) continue;
        const given = isSwagger2
          ? fromSwagger2(written as JsonValue, shared, pointers)
          : (written as JsonValue);
        const around = {
          summary: shared['summary'],
          description: shared['description'],
          servers: shared['servers'] ?? servers,
          ...(isSwagger2 ? {} : { parameters: shared['parameters'] }),
        };
        operations.push(documented(brief, given, around, pointers));
      } catch (error) {
        unusable.push({
          operation: `${method.toUpperCase()} ${path}`,
          reason: (error as Error).message,
        });
      }
    }
  }
  return { all, operations, unusable };
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
  const { method } = brief;
  if (method === 'TRACE') throw new Error('a TRACE request cannot be sent');
  const byPlace = new Map<string, Parameter>();
  for (const each of [...listOf(shared['parameters']), ...listOf(given['parameters'])]) {
    const parameter = parameterOf(pointers.resolved(each));
    if (parameter) byPlace.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const missing = [...brief.path.matchAll(/\{([^}]+)\}/g)].find(
    ([, name]) => !byPlace.has(`path ${name}`),
  );
  if (missing) throw new Error(`the path has ${missing[0]}, which no parameter describes`);
  const body = given['requestBody'] ? bodyOf(pointers.resolved(given['requestBody'])) : undefined;
  // HTTP gives such a body no meaning, and `fetch` cannot send it.
  const isBodiless = method === 'GET' || method === 'HEAD';
  if (isBodiless && body?.isRequired) throw new Error(`a ${method} request cannot have a body`);
  return {
    ...brief,
    summary: textOf(given['summary'] ?? shared['summary']),
    description: textOf(given['description'] ?? shared['description']),
    parameters: [...byPlace.values()],
    body: isBodiless ? undefined : body,
    answers: method === 'HEAD' ? [] : answersOf(given['responses'], pointers),
    servers: listOf(given['servers'] ?? shared['servers']) as readonly JsonValue[],
  };
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
  const [mediaType, media] = preferred(content) ?? [];
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
    mediaType,
  };
}

/** Forms of a content, those that are written most easily first. */
const wanted: readonly ((mediaType: string) => boolean)[] = [
  (type) => /^application\/json\b/i.test(type),
  isJsonType,
  (type) => /^application\/x-www-form-urlencoded/i.test(type),
  (type) => /^multipart\/form-data/i.test(type),
  isXmlType,
  (type) => /^text\//i.test(type),
  () => true,
];

/** Of several forms of a content, the one that is written most easily. */
function preferred(content: unknown): readonly [string, JsonValue] | undefined {
  const all = Object.entries((content ?? {}) as JsonValue);
  for (const isSuch of wanted) {
    const found = all.find(([type]) => isSuch(type));
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

/** Schemas of the successful responses if all of them are JSON: a tool has one schema for all of its results. */
function answersOf(responses: unknown, pointers: Pointers): readonly unknown[] {
  const all = Object.entries((responses ?? {}) as JsonValue);
  const schemas = all
    .filter(([status]) => /^2(\d\d|XX)$/i.test(status))
    .map(([, response]) => {
      const [type = '', media] = preferred(pointers.resolved(response)['content']) ?? [];
      return isJsonType(type) ? media?.['schema'] : undefined;
    });
  return schemas.every((schema) => typeof schema === 'object' && schema !== null) ? schemas : [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
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
