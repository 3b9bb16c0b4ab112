/** Operations of a document: parameters, bodies, responses and filters. */
import type { JsonValue } from './document.ts';
import { isJsonType, isXmlType } from './media.ts';
import type { References } from './references.ts';
import { fromSwagger2, serversOfSwagger2 } from './swagger2.ts';

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** An operation as passed to filters and callbacks. */
export interface Operation {
  /** In upper case, such as `GET`. */
  readonly method: string;
  /** Path template, such as `/pets/{petId}`. */
  readonly path: string;
  /** Undefined if the document has none. */
  readonly operationId: string | undefined;
  readonly tags: readonly string[];
  /** True if marked `deprecated`. */
  readonly isDeprecated: boolean;
}

/** An operation with its descriptions and schemas. */
export interface DocumentedOperation extends Operation {
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body: DocumentedBody | undefined;
  /** Schemas of the success responses; empty if any of them is not JSON or has no schema. */
  readonly responseSchemas: readonly unknown[];
  /** Servers of the operation, else of its path, else of the document. */
  readonly servers: readonly JsonValue[];
}

/** A path, query, header or cookie parameter. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly style: string;
  readonly isExploded: boolean;
  /** True if reserved characters are not percent-encoded in a query. */
  readonly allowsReserved: boolean;
  /** Media type of a parameter defined by `content` instead of `style`. */
  readonly mediaType: string | undefined;
}

/** The request body. */
export interface DocumentedBody {
  readonly mediaType: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  /** Serialization of form fields, by name. */
  readonly encoding: { readonly [field: string]: JsonValue };
}

/** An operation that cannot be used, with the reason. */
export interface UnusableOperation {
  /** Method and path, such as `GET /pets`. */
  readonly operation: string;
  readonly reason: string;
}

/** The operations of a document. */
export interface DocumentOperations {
  /** Every operation, including filtered-out ones. */
  readonly all: readonly Operation[];
  /** Selected operations that are usable. */
  readonly operations: readonly DocumentedOperation[];
  readonly unusable: readonly UnusableOperation[];
}

/**
 * Reads the operations of a document one by one: invalid ones are reported and skipped.
 *
 * @param base URL of the document
 */
export function operationsOf(
  refs: References,
  base: URL | undefined,
  isWanted: (operation: Operation) => boolean,
): DocumentOperations {
  const { document } = refs;
  const isSwagger2 = document['openapi'] === undefined;
  const servers = isSwagger2 ? serversOfSwagger2(document, base) : document['servers'];
  const all: Operation[] = [];
  const operations: DocumentedOperation[] = [];
  const unusable: UnusableOperation[] = [];
  for (const [path, item] of Object.entries((document['paths'] ?? {}) as JsonValue)) {
    if (path.startsWith('x-')) continue;
    for (const method of methods) {
      try {
        const shared = refs.resolve(item);
        const written = shared[method];
        if (typeof written !== 'object' || written === null) continue;
        const brief = summarize(method, path, written as JsonValue);
        all.push(brief);
        if (!isWanted(brief)) continue;
        const given = isSwagger2
          ? fromSwagger2(written as JsonValue, shared, refs)
          : (written as JsonValue);
        const around = {
          summary: shared['summary'],
          description: shared['description'],
          servers: shared['servers'] ?? servers,
          ...(isSwagger2 ? {} : { parameters: shared['parameters'] }),
        };
        operations.push(describeOperation(brief, given, around, refs));
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

function summarize(method: string, path: string, given: JsonValue): Operation {
  const { operationId, tags, deprecated } = given;
  return {
    method: method.toUpperCase(),
    path,
    operationId: typeof operationId === 'string' && operationId !== '' ? operationId : undefined,
    tags: Array.isArray(tags) ? tags.map(String) : [],
    isDeprecated: deprecated === true,
  };
}

function describeOperation(
  brief: Operation,
  given: JsonValue,
  shared: JsonValue,
  refs: References,
): DocumentedOperation {
  const { method } = brief;
  if (method === 'TRACE') throw new Error('TRACE requests cannot be sent');
  const byPlace = new Map<string, Parameter>();
  for (const each of [...listOf(shared['parameters']), ...listOf(given['parameters'])]) {
    const parameter = parameterOf(refs.resolve(each));
    if (parameter) byPlace.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const missing = [...brief.path.matchAll(/\{([^}]+)\}/g)].find(
    ([, name]) => !byPlace.has(`path ${name}`),
  );
  if (missing) throw new Error(`path variable ${missing[0]} has no parameter`);
  const body = given['requestBody'] ? bodyOf(refs.resolve(given['requestBody'])) : undefined;
  // HTTP gives a body of GET or HEAD no meaning, and `fetch` cannot send one.
  const isBodiless = method === 'GET' || method === 'HEAD';
  if (isBodiless && body?.isRequired) throw new Error(`a ${method} request cannot have a body`);
  return {
    ...brief,
    summary: textOf(given['summary'] ?? shared['summary']),
    description: textOf(given['description'] ?? shared['description']),
    parameters: [...byPlace.values()],
    body: isBodiless ? undefined : body,
    responseSchemas: method === 'HEAD' ? [] : responseSchemasOf(given['responses'], refs),
    servers: listOf(given['servers'] ?? shared['servers']) as readonly JsonValue[],
  };
}

/** Header parameters that OpenAPI says to ignore: they describe the message or its sender. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization']);

function parameterOf(given: JsonValue): Parameter | undefined {
  const { name, in: place, content } = given;
  if (typeof name !== 'string') throw new Error('a parameter has no name');
  if (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie') {
    throw new Error(
      `location of parameter "${name}" must be path, query, header or cookie, got ${JSON.stringify(place)}`,
    );
  }
  if (place === 'header' && ignoredHeaders.has(name.toLowerCase())) return undefined;
  const [mediaType, media] = preferredMediaType(content) ?? [];
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

/** Media types in order of preference, easiest to write first. */
const mediaTypePreference: readonly ((mediaType: string) => boolean)[] = [
  (type) => /^application\/json\b/i.test(type),
  isJsonType,
  (type) => /^application\/x-www-form-urlencoded/i.test(type),
  (type) => /^multipart\/form-data/i.test(type),
  isXmlType,
  (type) => /^text\//i.test(type),
  () => true,
];

/** Chooses the preferred media type of a content object. */
function preferredMediaType(content: unknown): readonly [string, JsonValue] | undefined {
  const all = Object.entries((content ?? {}) as JsonValue);
  for (const isSuch of mediaTypePreference) {
    const found = all.find(([type]) => isSuch(type));
    if (found) return [found[0], (found[1] ?? {}) as JsonValue];
  }
  return undefined;
}

function bodyOf(given: JsonValue): DocumentedBody | undefined {
  const [mediaType, media] = preferredMediaType(given['content']) ?? [];
  if (mediaType === undefined || !media) return undefined;
  return {
    mediaType,
    isRequired: given['required'] === true,
    description: textOf(given['description']) || undefined,
    schema: media['schema'] ?? {},
    encoding: (media['encoding'] ?? {}) as DocumentedBody['encoding'],
  };
}

/**
 * Schemas of the success responses, provided all are JSON, because a tool has a single output
 * schema.
 */
function responseSchemasOf(responses: unknown, refs: References): readonly unknown[] {
  const all = Object.entries((responses ?? {}) as JsonValue);
  const schemas = all
    .filter(([status]) => /^2(\d\d|XX)$/i.test(status))
    .map(([, response]) => {
      const [type = '', media] = preferredMediaType(refs.resolve(response)['content']) ?? [];
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
 * True if any pattern matches the operation: its `operationId`, method, path, `METHOD path` or
 * `tag:NAME`; `*` matches any characters.
 */
export function matchesAnyPattern(names: readonly string[], operation: Operation): boolean {
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
