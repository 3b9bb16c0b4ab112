/** Calls to an API: credentials, redirects, limits, and mapping of responses to tool results. */
import { ToolError } from 'mcp-actors';
import type { ContentBlock, HandlerContext, ToolResult } from 'mcp-actors';
import { parseExactly, timeoutSignal } from 'mcp-actors/internal';
import { readBounded } from './bounded.ts';
import { decodeText, isJsonType, isXmlType } from './media.ts';
import type { Operation } from './operations.ts';
import { isWithin } from './requests.ts';
import type { BuiltRequest } from './requests.ts';
import type { ToolOutput } from './schemas.ts';
import { formatOperation } from './tool-texts.ts';

/** Header or query values by name. */
export type ApiValues = { readonly [name: string]: string };

/** Credentials: fixed values, or a function called for each request. */
export type ApiCredentials =
  | ApiValues
  | ((context: HandlerContext, operation: Operation) => ApiValues | Promise<ApiValues>);

/** Options of API calls. */
export interface CallOptions {
  /**
   * Headers that authorize requests: fixed, or computed per call, for example from the caller's own
   * token for this API. The access token the caller sent to this MCP server is never forwarded,
   * because it is not meant for the API.
   */
  readonly auth?: ApiCredentials;
  /**
   * Query parameters that authorize requests, such as an API key. Tools do not expose them as
   * arguments.
   */
  readonly authQuery?: ApiCredentials;
  /** Time limit of a call including redirects and response, ms. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Size limit of a response, bytes. Default: 1 MiB. */
  readonly maxResponseBytes?: number;
  /** Sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Characters kept of an API's error response. */
const maxErrorCharacters = 4000;

const maxRedirects = 5;

/** A call ready to be sent. */
export interface ApiCall {
  readonly operation: Operation;
  readonly server: URL;
  readonly request: BuiltRequest;
  readonly answer: ToolOutput | undefined;
  /** True if JSON objects become structured results without schema validation. */
  readonly isUnchecked: boolean;
}

/**
 * Sends a call and converts its response.
 *
 * @throws {ToolError} if no usable response arrives
 */
export async function callApi(
  call: ApiCall,
  context: HandlerContext,
  options: CallOptions,
): Promise<ToolResult> {
  const { operation } = call;
  const { auth, authQuery, timeoutMs = 30_000, maxResponseBytes = 1024 * 1024 } = options;
  const headers = checkHeaders(await valuesOf(auth, context, operation));
  const query = await valuesOf(authQuery, context, operation);
  for (const [name, value] of Object.entries(headers)) call.request.headers.set(name, value);
  const signal = timeoutSignal(timeoutMs, context.signal);
  try {
    const { response, url } = await send(call, query, signal, options.fetch ?? fetch);
    const read = await readBounded(response, maxResponseBytes, signal);
    if (!read.isWhole && response.ok) {
      return failed(
        `Response to ${formatOperation(operation)} exceeds ${maxResponseBytes} bytes: request less data`,
      );
    }
    return resultOf(call, response, read.bytes, url);
  } catch (error) {
    if (context.signal.aborted || error instanceof ToolError) throw error;
    const why = signal.aborted
      ? `not answered within ${timeoutMs} ms`
      : `not answered: ${reasonOf(error)}`;
    throw new ToolError(`${formatOperation(operation)} was ${why}`);
  }
}

async function valuesOf(
  given: ApiCredentials | undefined,
  context: HandlerContext,
  operation: Operation,
): Promise<ApiValues> {
  return (typeof given === 'function' ? await given(context, operation) : given) ?? {};
}

/**
 * Validates header names and values. Errors omit the values, because they may reach a model.
 *
 * @throws {TypeError} if a header cannot be sent
 */
export function checkHeaders(headers: ApiValues): ApiValues {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
      throw new TypeError('Name of an API header must be a valid HTTP token');
    }
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      const actual = typeof value === 'string' ? `${value.length} characters` : typeof value;
      throw new TypeError(
        `Header "${name}" for the API must be a Latin-1 string without line breaks, got ${actual}`,
      );
    }
  }
  return headers;
}

interface ApiResponse {
  readonly response: Response;
  /** Final URL, without credentials. */
  readonly url: URL;
}

/**
 * Sends a request and follows redirects within the API.
 *
 * @throws {ToolError} if a redirect cannot be followed
 */
async function send(
  { request, operation, server }: ApiCall,
  query: ApiValues,
  signal: AbortSignal,
  fetch: typeof globalThis.fetch,
): Promise<ApiResponse> {
  const { headers } = request;
  let { url, body = null } = request;
  let { method } = operation;
  for (let hops = 0; ; hops++) {
    const response = await fetch(withQuery(url, query), {
      method,
      headers,
      body,
      signal,
      redirect: 'manual',
    });
    const { status } = response;
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(status) || location === null) return { response, url };
    await response.body?.cancel();
    const redirected = `${formatOperation(operation)} was redirected (${status})`;
    if (!URL.canParse(location, url.href)) {
      throw new ToolError(`${redirected}, but its Location header is not a URL`);
    }
    const next = new URL(location, url);
    if (!isWithin(next, server)) {
      const where = next.origin === server.origin ? next.pathname : next.origin;
      throw new ToolError(`${redirected} to ${where}, which is outside the API`);
    }
    if (hops >= maxRedirects) throw new ToolError(`${redirected} too often`);
    if (method === 'POST' && status === 302) {
      // APIs use 302 both as "see other" and as "moved", so repeating the POST may duplicate its
      // effect.
      throw new ToolError(
        `${redirected} to ${next.pathname}. The request may have succeeded: check before repeating it`,
      );
    }
    if (status === 303 && method !== 'HEAD') {
      method = 'GET';
      body = null;
      headers.delete('content-type');
    }
    // `fetch` rejects URLs with a password, and its error would contain the URL.
    next.username = '';
    next.password = '';
    url = next;
  }
}

/** Returns the URL with credentials in its query, replacing parameters of the same name. */
function withQuery(url: URL, query: ApiValues): URL {
  const names = Object.keys(query);
  if (names.length === 0) return url;
  const own = url.search.slice(1).split('&');
  const others = own.filter((pair) => {
    const [name = ''] = new URLSearchParams(pair).keys();
    return pair !== '' && !names.includes(name);
  });
  const added = Object.entries(query).map(
    ([name, value]) => new URLSearchParams({ [name]: value }),
  );
  const written = new URL(url);
  written.search = [...others, ...added.map(String)].join('&');
  return written;
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { readonly message?: unknown; readonly cause?: unknown };
  const inner = (cause as { readonly message?: unknown } | undefined)?.message;
  return String(inner ?? message);
}

function resultOf(
  { operation, answer, isUnchecked }: ApiCall,
  response: Response,
  bytes: Uint8Array,
  url: URL,
): ToolResult {
  const type = response.headers.get('content-type') ?? '';
  const status = `${response.status} ${response.statusText}`.trim();
  if (!response.ok) {
    const text = decodeText(bytes, type);
    const said = text.length > maxErrorCharacters ? `${text.slice(0, maxErrorCharacters)}…` : text;
    return failed(
      `${formatOperation(operation)} was answered with ${status}${said === '' ? '' : `:\n${said}`}`,
    );
  }
  if (!answer) {
    if (bytes.length === 0) return { content: [{ type: 'text', text: status }] };
    if (!isJsonType(type)) return { content: [blockOf(bytes, type, url.href)] };
    const text = decodeText(bytes, type);
    const { value } = isUnchecked ? jsonIn(text) : {};
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return { content: [{ type: 'text', text }], ...(isObject ? { structured: value } : {}) };
  }
  const text = decodeText(bytes, type);
  const { value, fault } = jsonIn(text);
  if (fault !== undefined) {
    // A tool with an output schema cannot return anything but matching JSON as a success.
    return failed(
      `${formatOperation(operation)} succeeded with ${status}, but its response is ${type || 'empty'} where the document declares JSON (${fault}). Do not repeat the call for this reason. ${text.slice(0, 200)}`
        .trim()
        .trim(),
    );
  }
  return { structured: answer.isWrapped ? { result: value } : (value as object) };
}

/** Parses JSON, or returns the reason it is invalid. */
function jsonIn(text: string): { readonly value?: unknown; readonly fault?: string } {
  try {
    return { value: parseExactly(text) };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

function failed(text: string): ToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}

function blockOf(bytes: Uint8Array, type: string, uri: string): ContentBlock {
  const mimeType = (type.split(';')[0] ?? '').trim();
  const isText =
    mimeType === '' || /^text\/|[/+]yaml$|javascript$/i.test(mimeType) || isXmlType(mimeType);
  if (isText) return { type: 'text', text: decodeText(bytes, type) };
  const data = Buffer.from(bytes).toString('base64');
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: data } };
}
