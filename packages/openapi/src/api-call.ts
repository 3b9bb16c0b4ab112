/** Calls of an API: credentials, redirects, limits, and responses as results of tools. */
import { ToolError } from 'mcp-actors';
import type { ContentBlock, HandlerContext, ToolResult } from 'mcp-actors';
import { parseExactly, timeoutSignal } from 'mcp-actors/internal';
import { readBounded } from './bounded.ts';
import { decodeText, isJsonType, isXmlType } from './media.ts';
import type { Operation } from './operations.ts';
import { isWithin } from './requests.ts';
import type { BuiltRequest } from './requests.ts';
import type { DocumentedAnswer } from './schemas.ts';
import { callOf } from './tool-texts.ts';

/** Headers, or parameters of the query, by name. */
export type ApiValues = { readonly [name: string]: string };

/** Credentials: always the same, or made for each call. */
export type ApiCredentials =
  | ApiValues
  | ((context: HandlerContext, operation: Operation) => ApiValues | Promise<ApiValues>);

/** Options of calls. */
export interface CallOptions {
  /**
   * Headers that authorize a request: always the same, or made for each call, such as from a token of the caller's
   * own for this API. The token that the caller sent to this server is never forwarded: it is not for the API.
   */
  readonly auth?: ApiCredentials;
  /** Parameters of the query that authorize a request, such as an API key. No tool has them as arguments. */
  readonly authQuery?: ApiCredentials;
  /** Time limit of a call with its redirects and its response, milliseconds; by default 30,000. */
  readonly timeoutMs?: number;
  /** Size limit of a response, bytes; by default 1 MiB. */
  readonly maxResponseBytes?: number;
  /** Sends requests; by default the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

/** Length limit of an API's error, characters. */
const maxErrorCharacters = 4000;

const maxRedirects = 5;

/** A call that may be made. */
export interface ApiCall {
  readonly operation: Operation;
  readonly server: URL;
  readonly request: BuiltRequest;
  readonly answer: DocumentedAnswer | undefined;
  /** True if JSON objects are structured results without a schema. */
  readonly isUnchecked: boolean;
}

/**
 * Makes a call and reads its response.
 *
 * @throws {ToolError} it was not answered
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
        `The response to ${callOf(operation)} has more than ${maxResponseBytes} bytes: ask for less`,
      );
    }
    return resultOf(call, response, read.bytes, url);
  } catch (error) {
    if (context.signal.aborted || error instanceof ToolError) throw error;
    const why = signal.aborted
      ? `not answered within ${timeoutMs} ms`
      : `not answered: ${reasonOf(error)}`;
    throw new ToolError(`${callOf(operation)} was ${why}`);
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
 * Checks headers, whose values an error must not show: it may reach a model.
 *
 * @throws {TypeError} a value cannot be sent
 */
export function checkHeaders(headers: ApiValues): ApiValues {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
      throw new TypeError('The name of a header for the API must be a token');
    }
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      const actual = typeof value === 'string' ? `${value.length} characters` : typeof value;
      throw new TypeError(
        `The header "${name}" for the API must be a string of Latin-1 without line feeds, got ${actual}`,
      );
    }
  }
  return headers;
}

interface Sent {
  readonly response: Response;
  /** Without credentials. */
  readonly url: URL;
}

/** Sends a request, and follows redirects within the API. @throws {ToolError} a redirect cannot be followed */
async function send(
  { request, operation, server }: ApiCall,
  query: ApiValues,
  signal: AbortSignal,
  fetch: typeof globalThis.fetch,
): Promise<Sent> {
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
    const redirected = `${callOf(operation)} was redirected (${status})`;
    if (!URL.canParse(location, url.href)) {
      throw new ToolError(`${redirected}, but its Location header is not a URL`);
    }
    const next = new URL(location, url);
    if (!isWithin(next, server)) {
      const where = next.origin === server.origin ? next.pathname : next.origin;
      throw new ToolError(`${redirected} to ${where}, which is outside of the API`);
    }
    if (hops >= maxRedirects) throw new ToolError(`${redirected} too often`);
    if (method === 'POST' && status === 302) {
      // It means "see other" to some APIs, and "moved" to others.
      throw new ToolError(
        `${redirected} to ${next.pathname}. It may have been carried out: check before you repeat it`,
      );
    }
    if (status === 303 && method !== 'HEAD') {
      method = 'GET';
      body = null;
      headers.delete('content-type');
    }
    // A password in it would make `fetch` fail, with the URL in the error.
    next.username = '';
    next.password = '';
    url = next;
  }
}

/** The URL with credentials in its query, in place of an argument or a redirect's parameter of that name. */
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
      `${callOf(operation)} was answered with ${status}${said === '' ? '' : `:\n${said}`}`,
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
    // A tool with a schema for its results has no other form for a success.
    return failed(
      `${callOf(operation)} succeeded with ${status}, but its response is ${type || 'empty'} where the document promises JSON (${fault}). Do not repeat it for this reason. ${text.slice(0, 200)}`.trim(),
    );
  }
  return { structured: answer.isWrapped ? { result: value } : (value as object) };
}

/** The value of a text, or the reason why it has none. */
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
