/** The operations of an OpenAPI document as tools. */
import { setImmediate } from 'node:timers/promises';
import { ToolError } from 'mcp-actors';
import type { ContentBlock, HandlerContext, JsonObject, Tool, ToolResult } from 'mcp-actors';
import { readBounded } from './bounded.ts';
import { readDocument } from './document.ts';
import type { JsonValue } from './document.ts';
import { Pointers, cutForModels, isNamedBy, operationsOf, toolNameOf } from './operations.ts';
import type { DocumentedOperation, Operation, Unusable } from './operations.ts';
import { buildRequest } from './requests.ts';
import type { BuiltRequest } from './requests.ts';
import { ToolSchemas } from './schemas.ts';
import type { DocumentedAnswer } from './schemas.ts';

/** Headers by name. */
export type ApiHeaders = { readonly [name: string]: string };

/** Which operations: a function, or names of which one fits: an `operationId`, a method, a path, `METHOD path`, `tag:NAME`; `*` stands for anything. */
export type OperationFilter = readonly string[] | ((operation: Operation) => boolean);

/** How operations become tools. */
export interface OpenApiOptions {
  /** By default all. */
  readonly include?: OperationFilter;
  /** Of those that are included; by default none. */
  readonly exclude?: OperationFilter;
  /**
   * Headers that authorize a request: always the same, or made for each call, such as from a token of the caller's
   * own for this API. The token that the caller sent to this server is never handed on: it is not for the API.
   */
  readonly auth?:
    | ApiHeaders
    | ((context: HandlerContext, operation: Operation) => ApiHeaders | Promise<ApiHeaders>);
  /** Another name for a tool; undefined keeps it. */
  readonly rename?: (operation: Operation) => string | undefined;
  /** Where the API is; by default the document's first server. A document without one, or with a relative one in a file, needs it. */
  readonly server?: string | URL;
  /** The most that a request may take, milliseconds; by default 30,000. */
  readonly timeoutMs?: number;
  /** The most that is read of an answer, bytes; by default 1 MiB. */
  readonly maxResponseBytes?: number;
  /** Whether results are structured if the document has a schema for them; by default they are. */
  readonly structured?: boolean;
  /** Hears of operations that cannot be a tool; by default they are left out silently. */
  readonly onUnusable?: (unusable: Unusable) => void;
  /** Sends requests; by default the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

/** What a description of a tool may have, characters. */
const maxDescription = 1024;

/** What an error of the API may say, characters. */
const maxErrorCharacters = 4000;

/** How long the schema of a tool's results may be, as JSON: it is in each list of the tools. */
const maxAnswerSchema = 16 * 1024;

const maxRedirects = 5;

/**
 * Makes a tool of each operation of an OpenAPI document (2.0, 3.0 or 3.1).
 *
 * @param document a document as a value, a file's path, or a URL; JSON or YAML
 * @throws {Error} the document cannot be read, or is not OpenAPI
 * @throws {TypeError} two tools have the same name, or it is not known where the API is
 */
export async function toolsFromOpenApi(
  document: string | URL | JsonObject,
  options: OpenApiOptions = {},
): Promise<Tool[]> {
  const read = await readDocument(document);
  const pointers = new Pointers(read.document);
  const isWanted = (operation: Operation) =>
    isChosen(options.include, operation, true) && !isChosen(options.exclude, operation, false);
  const { operations, unusable } = operationsOf(pointers, isWanted);
  const schemas = new ToolSchemas(pointers, cutForModels);
  const faults = [...unusable];
  const tools = new Map<string, Tool>();
  for (const [at, operation] of operations.entries()) {
    // A thousand operations take a while, in which others have their turn.
    if (at % 64 === 63) await setImmediate();
    const name = options.rename?.(operation) ?? toolNameOf(operation);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
      throw new TypeError(
        `A tool's name has 1 to 64 characters of A-Z a-z 0-9 _ - . ; this is ${JSON.stringify(name)}`,
      );
    }
    if (tools.has(name) && options.rename) {
      throw new TypeError(
        `Two operations would be the tool "${name}"; the second one is ${callOf(operation)}`,
      );
    }
    try {
      if (tools.has(name)) throw new Error(`its operationId is another operation's, too`);
      tools.set(
        name,
        toolOf(name, operation, schemas, serverOf(operation, options, read.base), options),
      );
    } catch (error) {
      if (error instanceof TypeError) throw error;
      faults.push({ operation: callOf(operation), reason: (error as Error).message });
    }
  }
  for (const fault of faults) options.onUnusable?.(fault);
  return [...tools.values()];
}

const callOf = ({ method, path }: Operation) => `${method} ${path}`;

function isChosen(filter: OperationFilter | undefined, operation: Operation, byDefault: boolean) {
  if (!filter) return byDefault;
  return typeof filter === 'function' ? filter(operation) : isNamedBy(filter, operation);
}

/** @throws {TypeError} nothing says where the API is */
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
  const filled = written.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
    textOf(variables[name]?.['default']),
  );
  const isRelative = !/^[a-z][a-z0-9+.-]*:/i.test(filled);
  if (isRelative && base?.protocol === 'file:') throw new TypeError(noServer(filled));
  if (isRelative && !base) throw new TypeError(noServer(filled));
  return webAddress(isRelative ? new URL(filled, base).href : filled);
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

const noServer = (written: string) =>
  `The document's server is ${JSON.stringify(written)}, which says not where the API is: give its address as "server"`;

function webAddress(address: string): URL {
  if (!URL.canParse(address) || !/^https?:/i.test(address)) {
    throw new TypeError(
      `The API's address must be an http or https URL, this is ${JSON.stringify(address)}`,
    );
  }
  return new URL(address);
}

function toolOf(
  name: string,
  operation: DocumentedOperation,
  schemas: ToolSchemas,
  server: URL,
  options: OpenApiOptions,
): Tool {
  const input = schemas.input(operation);
  const answer =
    options.structured === false ? undefined : schemas.answer(operation.answer, maxAnswerSchema);
  const { method, summary, description, isDeprecated } = operation;
  const isReading = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  const text = [
    isDeprecated ? 'Deprecated.' : '',
    summary,
    description === summary ? '' : description,
  ]
    .filter((part) => part !== '')
    .map((part) => (/[.!?…]$/.test(part) ? part : `${part}.`))
    .join(' ');
  return {
    name,
    ...(summary === '' ? {} : { title: cutForModels(summary, 100) }),
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
      const request = buildRequest(operation, server, input.arguments, args);
      const { auth } = options;
      const headers = typeof auth === 'function' ? await auth(context, operation) : auth;
      for (const [header, value] of Object.entries(headers ?? {}))
        request.headers.set(header, value);
      const response = await sent(request, operation, context.signal, options);
      return await resultOf(response, operation, answer, options);
    },
  };
}

/** Sends a request, within its time and to its server alone. @throws {ToolError} it was not answered */
async function sent(
  { url, headers, body }: BuiltRequest,
  operation: Operation,
  called: AbortSignal,
  { fetch: send = fetch, timeoutMs = 30_000 }: OpenApiOptions,
): Promise<Response> {
  const signal = AbortSignal.any([called, AbortSignal.timeout(timeoutMs)]);
  let target = url;
  let { method } = operation;
  let content = body ?? null;
  for (let hops = 0; ; hops++) {
    let response: Response;
    try {
      response = await send(target, { method, headers, body: content, signal, redirect: 'manual' });
    } catch (error) {
      if (called.aborted) throw error;
      const why = signal.aborted
        ? `not answered within ${timeoutMs} ms`
        : `not sent: ${reasonOf(error)}`;
      throw new ToolError(`${callOf(operation)} was ${why}`);
    }
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, target);
    if (next.origin !== url.origin) {
      throw new ToolError(
        `${callOf(operation)} was redirected to ${next.origin}, which is not the API's server`,
      );
    }
    if (hops >= maxRedirects) throw new ToolError(`${callOf(operation)} was redirected too often`);
    if (response.status < 307 && method !== 'GET' && method !== 'HEAD') {
      method = 'GET';
      content = null;
      headers.delete('content-type');
    }
    target = next;
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { readonly message?: unknown; readonly cause?: unknown };
  const inner = (cause as { readonly message?: unknown } | undefined)?.message;
  return String(inner ?? message);
}

async function resultOf(
  response: Response,
  operation: Operation,
  answer: DocumentedAnswer | undefined,
  { maxResponseBytes = 1024 * 1024 }: OpenApiOptions,
): Promise<ToolResult> {
  const type = response.headers.get('content-type') ?? '';
  const { bytes, isWhole } = await readBounded(response, maxResponseBytes);
  if (!response.ok) {
    const text = new TextDecoder().decode(bytes);
    const said = text.length > maxErrorCharacters ? `${text.slice(0, maxErrorCharacters)}…` : text;
    const status = `${response.status} ${response.statusText}`.trim();
    return failed(
      `${callOf(operation)} was answered with ${status}${said === '' ? '' : `:\n${said}`}`,
    );
  }
  if (!isWhole) {
    return failed(
      `The answer to ${callOf(operation)} has more than ${maxResponseBytes} bytes: ask for less`,
    );
  }
  const isJson = /[/+]json\b/i.test(type);
  if (!isJson && !answer) return { content: [blockOf(bytes, type, response.url)] };
  const text = new TextDecoder().decode(bytes);
  if (!answer) return { content: [{ type: 'text', text: text || 'Done' }] };
  try {
    const value: unknown = JSON.parse(text);
    return { structured: answer.isWrapped ? { result: value } : (value as object) };
  } catch {
    return failed(
      `The answer to ${callOf(operation)} should be JSON, and is ${type || 'nothing'}: ${text.slice(0, 200)}`,
    );
  }
}

function failed(text: string): ToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}

function blockOf(bytes: Uint8Array, type: string, uri: string): ContentBlock {
  const [mimeType = ''] = type.split(';');
  if (bytes.length === 0) return { type: 'text', text: 'Done' };
  const isText = mimeType === '' || /^text\/|[/+](xml|yaml)$|javascript$/i.test(mimeType);
  if (isText) return { type: 'text', text: new TextDecoder().decode(bytes) };
  const data = Buffer.from(bytes).toString('base64');
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: data } };
}
