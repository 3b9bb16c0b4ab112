/** Creates tools from the operations of an OpenAPI document. */
import { setImmediate } from 'node:timers/promises';
import type { HandlerContext, JsonObject, Tool, ToolResult } from 'mcp-actors';
import { keepNumberTexts } from 'mcp-actors/internal';
import { callApi, checkHeaders } from './api-call.ts';
import type { ApiCredentials, CallOptions } from './api-call.ts';
import { readDocument } from './document.ts';
import type { JsonValue } from './document.ts';
import { matchesAnyPattern, operationsOf } from './operations.ts';
import type { DocumentedOperation, Operation, UnusableOperation } from './operations.ts';
import { References } from './references.ts';
import { buildRequest } from './requests.ts';
import { ToolSchemas } from './schemas.ts';
import type { ToolOutput } from './schemas.ts';
import { formatOperation, textForModels, nameTools } from './tool-texts.ts';

/**
 * Selects operations: a predicate, or a list of patterns. A pattern is an `operationId`, a method,
 * a path, `METHOD path` or `tag:NAME`; `*` matches any characters.
 */
export type OperationFilter = readonly string[] | ((operation: Operation) => boolean);

/** A deviation from the document that leaves its operations usable. */
export interface DocumentWarning {
  /**
   * `schema.keywordIgnored`: a keyword was dropped from a schema. `tool.nameCollision`: colliding
   * tool names got a digest.
   */
  readonly name: 'schema.keywordIgnored' | 'tool.nameCollision';
  readonly message: string;
}

/** Options of `toolsFromOpenApi`. */
export interface OpenApiOptions extends CallOptions {
  /** Operations to include. Default: all. */
  readonly include?: OperationFilter;
  /** Operations to exclude from the included ones. Default: none. */
  readonly exclude?: OperationFilter;
  /** Returns another name for a tool, or undefined to keep its name. */
  readonly rename?: (operation: Operation) => string | undefined;
  /**
   * Base URL of the API. Default: the document's first server. Required if the document has no
   * server, or a relative one and is a file.
   */
  readonly server?: string | URL;
  /**
   * False for text-only results. By default, results are structured if the document has a schema
   * for them.
   */
  readonly structured?: boolean;
  /**
   * False to accept responses that violate their schema: tools have no `outputSchema`, and every
   * JSON object becomes a structured result. By default such a call fails.
   */
  readonly checkResponses?: boolean;
  /** Called for each operation that cannot become a tool. By default they are skipped silently. */
  readonly onUnusable?: (unusable: UnusableOperation) => void;
  /** Called for each deviation from the document. */
  readonly onWarning?: (warning: DocumentWarning) => void;
}

/** Length limit of a tool's description, characters. */
const maxDescription = 1024;

/** Length limit of an output schema as JSON, which every tools/list response contains. */
const maxAnswerSchema = 16 * 1024;

/**
 * Creates a tool for each operation of an OpenAPI document (2.0, 3.0 or 3.1).
 *
 * @param document the document as a value, a file path or a URL; JSON or YAML
 * @throws {Error} if the document cannot be read or is not OpenAPI
 * @throws {TypeError} if two tools have the same name, the API's base URL is unknown, or a header
 * cannot be sent
 */
export async function toolsFromOpenApi(
  document: string | URL | JsonObject,
  options: OpenApiOptions = {},
): Promise<Tool[]> {
  if (options.auth && typeof options.auth !== 'function') checkHeaders(options.auth);
  keepNumberTexts();
  const read = await readDocument(document);
  const refs = new References(read.document);
  const isWanted = (operation: Operation) =>
    isSelected(options.include, operation, true) && !isSelected(options.exclude, operation, false);
  const { all, operations, unusable } = operationsOf(refs, read.base, isWanted);
  const names = nameTools(all);
  const warn = (name: DocumentWarning['name'], message: string) =>
    options.onWarning?.({ name, message });
  for (const [name, group] of names.collisions) {
    if (!group.some(isWanted)) continue;
    const calls = group.map(formatOperation).join(', ');
    warn(
      'tool.nameCollision',
      `"${name}" would name several operations, so each name gets a digest: ${calls}`,
    );
  }
  const schemas = new ToolSchemas(refs, textForModels, ({ at, keyword, reason }) =>
    warn('schema.keywordIgnored', `${at}: ${JSON.stringify(keyword)} ${reason}: ignored`),
  );
  const faults = [...unusable];
  const tools = new Map<string, Tool>();
  for (const [at, operation] of operations.entries()) {
    // Yield now and then: documents may have thousands of operations.
    if (at % 64 === 63) await setImmediate();
    const renamed = options.rename?.(operation);
    const name = renamed ?? names.of(operation);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
      throw new TypeError(
        `Tool name must have 1 to 64 characters of A-Z a-z 0-9 _ - . , got ${JSON.stringify(name)}`,
      );
    }
    if (tools.has(name) && options.rename) {
      throw new TypeError(
        `Tool name "${name}" must be unique; ${formatOperation(operation)} has it as well`,
      );
    }
    const server = serverOf(operation, options, read.base);
    try {
      if (tools.has(name)) throw new Error(`another operation has the same name "${name}"`);
      const made = { schemas, server, refs, warn };
      tools.set(name, toolOf(name, omitCredentials(operation, options), made, options));
    } catch (error) {
      faults.push({ operation: formatOperation(operation), reason: (error as Error).message });
    }
  }
  for (const fault of faults) options.onUnusable?.(fault);
  return [...tools.values()];
}

function isSelected(filter: OperationFilter | undefined, operation: Operation, byDefault: boolean) {
  if (!filter) return byDefault;
  return typeof filter === 'function' ? filter(operation) : matchesAnyPattern(filter, operation);
}

/** Removes the parameters that fixed credentials fill in, so that models do not see them. */
function omitCredentials(
  operation: DocumentedOperation,
  { auth, authQuery }: OpenApiOptions,
): DocumentedOperation {
  const namesOf = (given: ApiCredentials | undefined) =>
    typeof given === 'object' ? Object.keys(given) : [];
  const headers = new Set(namesOf(auth).map((name) => name.toLowerCase()));
  const query = new Set(namesOf(authQuery));
  const parameters = operation.parameters.filter(
    ({ in: place, name }) =>
      !(place === 'header' && headers.has(name.toLowerCase())) &&
      !(place === 'query' && query.has(name)),
  );
  return { ...operation, parameters };
}

/** @throws {TypeError} if the API's base URL is unknown or unusable */
function serverOf(
  operation: DocumentedOperation,
  { server }: OpenApiOptions,
  base: URL | undefined,
): URL {
  if (server !== undefined) return baseUrl(String(server));
  const [first] = operation.servers;
  const written = typeof first?.['url'] === 'string' ? first['url'] : '/';
  const variables = (first?.['variables'] ?? {}) as { readonly [name: string]: JsonValue };
  // Use defaults only: a caller must not choose the server.
  const filled = written.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name]?.['default'] : undefined;
    if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
    throw new TypeError(
      `Variable "${name}" of the document's server ${JSON.stringify(written)} must have a default: pass the API's base URL as "server"`,
    );
  });
  const isRelative = !/^[a-z][a-z0-9+.-]*:/i.test(filled);
  if (isRelative && (!base || base.protocol === 'file:')) {
    throw new TypeError(
      `Document's server ${JSON.stringify(filled)} has no host: pass the API's base URL as "server"`,
    );
  }
  return baseUrl(isRelative ? new URL(filled, base).href : filled);
}

function baseUrl(address: string): URL {
  if (!URL.canParse(address) || !/^https?:/i.test(address)) {
    throw new TypeError(
      `API base URL must be an http or https URL, got ${JSON.stringify(address.replace(/\/\/[^/@]*@/, '//…@'))}`,
    );
  }
  const url = new URL(address);
  if (url.username === '' && url.password === '') return url;
  throw new TypeError(
    `API base URL ${url.origin} must not contain a user name or password: use the header "Authorization: Basic …"`,
  );
}

interface ToolParts {
  readonly schemas: ToolSchemas;
  readonly server: URL;
  readonly refs: References;
  readonly warn: (name: DocumentWarning['name'], message: string) => void;
}

/** @throws {Error} if the operation cannot be called */
function toolOf(
  name: string,
  operation: DocumentedOperation,
  { schemas, server, refs, warn }: ToolParts,
  options: OpenApiOptions,
): Tool {
  const input = schemas.input(operation);
  const isUnchecked = options.checkResponses === false && options.structured !== false;
  let answer: ToolOutput | undefined;
  try {
    if (options.structured !== false && !isUnchecked) {
      answer = schemas.output(
        operation.responseSchemas,
        formatOperation(operation),
        maxAnswerSchema,
      );
    }
  } catch (error) {
    // The operation also works without an output schema.
    warn(
      'schema.keywordIgnored',
      `${formatOperation(operation)}: ${(error as Error).message}: no outputSchema`,
    );
  }
  const { method, summary, description, isDeprecated } = operation;
  const isReading = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  const text = [
    isDeprecated ? 'Deprecated.' : '',
    summary,
    description === summary ? '' : description,
  ]
    .map((part) => textForModels(part, Infinity))
    .filter((part) => part !== '')
    .map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`))
    .join(' ');
  const title = textForModels(summary, 100);
  return {
    name,
    ...(title === '' ? {} : { title }),
    description: textForModels(text, maxDescription) || formatOperation(operation),
    annotations: {
      readOnlyHint: isReading,
      ...(isReading ? {} : { destructiveHint: method === 'DELETE' }),
      idempotentHint: isReading || method === 'PUT' || method === 'DELETE',
      openWorldHint: true,
    },
    inputSchema: input.schema,
    ...(answer ? { outputSchema: answer.schema } : {}),
    handler: async (args: JsonObject, context: HandlerContext): Promise<ToolResult> => {
      const request = buildRequest(operation, server, input.arguments, args, refs);
      return await callApi({ operation, server, request, answer, isUnchecked }, context, options);
    },
  };
}
