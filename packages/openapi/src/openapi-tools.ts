/** Tools from the operations of an OpenAPI document. */
import { setImmediate } from 'node:timers/promises';
import type { HandlerContext, JsonObject, Tool, ToolResult } from 'mcp-actors';
import { keepNumberTexts } from 'mcp-actors/internal';
import { callApi, checkHeaders } from './api-call.ts';
import type { ApiCredentials, CallOptions } from './api-call.ts';
import { readDocument } from './document.ts';
import type { JsonValue } from './document.ts';
import { isNamedBy, operationsOf } from './operations.ts';
import type { DocumentedOperation, Operation, Unusable } from './operations.ts';
import { Pointers } from './pointers.ts';
import { buildRequest } from './requests.ts';
import { ToolSchemas } from './schemas.ts';
import type { DocumentedAnswer } from './schemas.ts';
import { callOf, cutForModels, nameTools } from './tool-texts.ts';

/** Which operations: a function, or names of which one fits: an `operationId`, a method, a path, `METHOD path`, `tag:NAME`; `*` stands for anything. */
export type OperationFilter = readonly string[] | ((operation: Operation) => boolean);

/** A deviation from the document that leaves its operations usable. */
export interface DocumentWarning {
  /** `schema.keywordIgnored`: a schema lost a keyword; `tool.nameCollision`: tools have a digest in their names. */
  readonly name: 'schema.keywordIgnored' | 'tool.nameCollision';
  readonly message: string;
}

/** Options of tools from a document. */
export interface OpenApiOptions extends CallOptions {
  /** By default all. */
  readonly include?: OperationFilter;
  /** Of those that are included; by default none. */
  readonly exclude?: OperationFilter;
  /** Another name for a tool; undefined keeps it. */
  readonly rename?: (operation: Operation) => string | undefined;
  /** Where the API is; by default the document's first server. A document without one, or with a relative one in a file, needs it. */
  readonly server?: string | URL;
  /** False for results as text alone; by default they are structured if the document has a schema for them. */
  readonly structured?: boolean;
  /**
   * False keeps responses that break their schema: tools have no `outputSchema`, and any JSON object is a structured
   * result. By default such a call fails.
   */
  readonly checkResponses?: boolean;
  /** Called for each operation that cannot be a tool; by default they are left out silently. */
  readonly onUnusable?: (unusable: Unusable) => void;
  /** Called for each deviation from the document. */
  readonly onWarning?: (warning: DocumentWarning) => void;
}

/** Length limit of a tool's description, characters. */
const maxDescription = 1024;

/** Length limit of the schema of a tool's results, as JSON: each list of the tools has it. */
const maxAnswerSchema = 16 * 1024;

/**
 * Makes a tool of each operation of an OpenAPI document (2.0, 3.0 or 3.1).
 *
 * @param document a document as a value, a file's path, or a URL; JSON or YAML
 * @throws {Error} the document cannot be read, or is not OpenAPI
 * @throws {TypeError} two tools have the same name, the API's address is unknown, or a header cannot be sent
 */
export async function toolsFromOpenApi(
  document: string | URL | JsonObject,
  options: OpenApiOptions = {},
): Promise<Tool[]> {
  if (options.auth && typeof options.auth !== 'function') checkHeaders(options.auth);
  keepNumberTexts();
  const read = await readDocument(document);
  const pointers = new Pointers(read.document);
  const isWanted = (operation: Operation) =>
    isChosen(options.include, operation, true) && !isChosen(options.exclude, operation, false);
  const { all, operations, unusable } = operationsOf(pointers, read.base, isWanted);
  const names = nameTools(all);
  const warn = (name: DocumentWarning['name'], message: string) =>
    options.onWarning?.({ name, message });
  for (const [name, group] of names.collisions) {
    if (!group.some(isWanted)) continue;
    const calls = group.map(callOf).join(', ');
    warn('tool.nameCollision', `"${name}" is the name of ${calls}: each has a digest in its name`);
  }
  const schemas = new ToolSchemas(pointers, cutForModels, ({ at, keyword, reason }) =>
    warn('schema.keywordIgnored', `${at}: ${JSON.stringify(keyword)} ${reason}: ignored`),
  );
  const faults = [...unusable];
  const tools = new Map<string, Tool>();
  for (const [at, operation] of operations.entries()) {
    // A thousand operations take a while, in which others have their turn.
    if (at % 64 === 63) await setImmediate();
    const renamed = options.rename?.(operation);
    const name = renamed ?? names.of(operation);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
      throw new TypeError(
        `A tool's name must have 1 to 64 characters of A-Z a-z 0-9 _ - . , got ${JSON.stringify(name)}`,
      );
    }
    if (tools.has(name) && options.rename) {
      throw new TypeError(
        `Two operations would be the tool "${name}"; the second one is ${callOf(operation)}`,
      );
    }
    const server = serverOf(operation, options, read.base);
    try {
      if (tools.has(name)) throw new Error(`its name "${name}" is another operation's, too`);
      const made = { schemas, server, pointers, warn };
      tools.set(name, toolOf(name, withoutCredentials(operation, options), made, options));
    } catch (error) {
      faults.push({ operation: callOf(operation), reason: (error as Error).message });
    }
  }
  for (const fault of faults) options.onUnusable?.(fault);
  return [...tools.values()];
}

function isChosen(filter: OperationFilter | undefined, operation: Operation, byDefault: boolean) {
  if (!filter) return byDefault;
  return typeof filter === 'function' ? filter(operation) : isNamedBy(filter, operation);
}

/** Without the parameters that fixed credentials replace: no model is asked for them. */
function withoutCredentials(
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

/** @throws {TypeError} the API's address is unknown or cannot be used */
function serverOf(
  operation: DocumentedOperation,
  { server }: OpenApiOptions,
  base: URL | undefined,
): URL {
  if (server !== undefined) return webAddress(String(server));
  const [first] = operation.servers;
  const written = typeof first?.['url'] === 'string' ? first['url'] : '/';
  const variables = (first?.['variables'] ?? {}) as { readonly [name: string]: JsonValue };
  // The defaults, and nothing that a caller says.
  const filled = written.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name]?.['default'] : undefined;
    if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
    throw new TypeError(
      `The variable "${name}" of the document's server ${JSON.stringify(written)} must have a default: give the API's address as "server"`,
    );
  });
  const isRelative = !/^[a-z][a-z0-9+.-]*:/i.test(filled);
  if (isRelative && (!base || base.protocol === 'file:')) {
    throw new TypeError(
      `The document's server is ${JSON.stringify(filled)}, which has no host: give the API's address as "server"`,
    );
  }
  return webAddress(isRelative ? new URL(filled, base).href : filled);
}

function webAddress(address: string): URL {
  if (!URL.canParse(address) || !/^https?:/i.test(address)) {
    throw new TypeError(
      `The API's address must be an http or https URL, got ${JSON.stringify(address.replace(/\/\/[^/@]*@/, '//…@'))}`,
    );
  }
  const url = new URL(address);
  if (url.username === '' && url.password === '') return url;
  throw new TypeError(
    `The API's address ${url.origin} must have no user name and password: give them as a header "Authorization: Basic …"`,
  );
}

interface ToolParts {
  readonly schemas: ToolSchemas;
  readonly server: URL;
  readonly pointers: Pointers;
  readonly warn: (name: DocumentWarning['name'], message: string) => void;
}

/** @throws {Error} the operation cannot be called */
function toolOf(
  name: string,
  operation: DocumentedOperation,
  { schemas, server, pointers, warn }: ToolParts,
  options: OpenApiOptions,
): Tool {
  const input = schemas.input(operation);
  const isUnchecked = options.checkResponses === false && options.structured !== false;
  let answer: DocumentedAnswer | undefined;
  try {
    if (options.structured !== false && !isUnchecked) {
      answer = schemas.answer(operation.answers, callOf(operation), maxAnswerSchema);
    }
  } catch (error) {
    // The operation works without a schema of its results.
    warn(
      'schema.keywordIgnored',
      `${callOf(operation)}: ${(error as Error).message}: no outputSchema`,
    );
  }
  const { method, summary, description, isDeprecated } = operation;
  const isReading = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  const text = [
    isDeprecated ? 'Deprecated.' : '',
    summary,
    description === summary ? '' : description,
  ]
    .map((part) => cutForModels(part, Infinity))
    .filter((part) => part !== '')
    .map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`))
    .join(' ');
  const title = cutForModels(summary, 100);
  return {
    name,
    ...(title === '' ? {} : { title }),
    description: cutForModels(text, maxDescription) || callOf(operation),
    annotations: {
      readOnlyHint: isReading,
      ...(isReading ? {} : { destructiveHint: method === 'DELETE' }),
      idempotentHint: isReading || method === 'PUT' || method === 'DELETE',
      openWorldHint: true,
    },
    inputSchema: input.schema,
    ...(answer ? { outputSchema: answer.schema } : {}),
    handler: async (args: JsonObject, context: HandlerContext): Promise<ToolResult> => {
      const request = buildRequest(operation, server, input.arguments, args, pointers);
      return await callApi({ operation, server, request, answer, isUnchecked }, context, options);
    },
  };
}
