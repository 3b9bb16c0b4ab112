/**
 * Checks on a request's headers, before its body is read.
 *
 * @see MCP 2025-11-25, basic/transports, "Security Warning"
 */
import { addressKey } from '../../../src/protocol/address-key.ts';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { ErrorCode, errorResponse, textOfError } from '../../../src/protocol/errors.ts';
import type { InboundRequestId, WireError } from '../../../src/protocol/frames.ts';
import type { HttpReport } from './facts.ts';
import type { HttpAnswer, HttpExchange, RequestHead } from './http-exchange.ts';
import type { HttpOptions } from './options.ts';

/**
 * A response whose body is a JSON-RPC error.
 *
 * @param id id of the request it answers; undefined if there is none or it cannot be read
 */
export function errorAnswer(error: WireError, id?: InboundRequestId, status = 400): HttpAnswer {
  const headers = { 'content-type': 'application/json' };
  return { status, headers, body: JSON.stringify(errorResponse(id, error)) };
}

/**
 * An error response with a JSON-RPC error as its body, so that an MCP client can read it whatever
 * the status.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
export function httpError(
  status: number,
  message: string,
  headers?: HttpAnswer['headers'],
): HttpAnswer {
  const isOurs = status >= 500 && status !== 501;
  const code = isOurs ? ErrorCode.serverUnavailable : ErrorCode.invalidRequest;
  const answer = errorAnswer({ code, message }, undefined, status);
  return { ...answer, headers: { ...headers, ...answer.headers } };
}

/**
 * Response to a POST with a malformed JSON-RPC response.
 *
 * @param why what makes it malformed
 */
export function malformedResponse(why: string): HttpAnswer {
  return httpError(400, `The response is malformed: ${why}`);
}

/** Reports that the host's server factory threw, and answers the request with 500. */
export function answerFailure(
  exchange: HttpExchange,
  {
    error,
    needed,
    report,
  }: {
    readonly error: unknown;
    readonly needed: 'session' | 'request';
    readonly report: HttpReport;
  },
): void {
  const message = `No server could be created for a ${needed}: ${textOfError(error)}`;
  report({ level: 'error', name: 'server.failed', message, details: { error } });
  exchange.answer(httpError(500, `No server could be created for this ${needed}`));
}

/**
 * Rejects a request during shutdown. The client may retry: another node, or this one after its
 * restart, can serve it.
 */
export const closingAnswer = httpError(503, 'The server is closing; try again', {
  'retry-after': '1',
});

/**
 * Rejects requests with a foreign `Host` or `Origin`, such as those of a page that rebinds a DNS
 * name to this address.
 */
export function rejectOrigin(exchange: HttpExchange, options: HttpOptions): HttpAnswer | undefined {
  const { allowedHosts = loopbackNames, allowedOrigins = [] } = options;
  const { host, origin } = exchange.head;
  // Several headers are joined with commas, and no host name contains one.
  if (host?.includes(',')) {
    return httpError(400, 'The Host header was sent more than once');
  }
  if (allowedHosts !== 'any') {
    if (host === undefined) {
      return httpError(403, 'The Host header is missing; it must name this server');
    }
    if (!allowsHost(allowedHosts, host)) {
      return httpError(403, `The host ${inspectValue(host)} is not allowed by this server`);
    }
  }
  if (origin === undefined || allowsOrigin(allowedOrigins, origin)) return undefined;
  if (host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)) {
    return undefined;
  }
  if (isOwnLoopbackOrigin(exchange, origin, options)) return undefined;
  return httpError(403, `The origin ${inspectValue(origin)} is not allowed by this server`);
}

/** Accepted by default, with any port. */
const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * True if a page was served from this endpoint's port under another loopback name: browsers treat
 * `http://localhost:3000` and `http://127.0.0.1:3000` as two origins. Only for endpoints restricted
 * to loopback; elsewhere the page could belong to the visitor's machine.
 */
function isOwnLoopbackOrigin(
  exchange: HttpExchange,
  origin: string,
  { allowedHosts = loopbackNames }: HttpOptions,
): boolean {
  const isLocal =
    exchange.remoteAddress === '::1' || addressKey(exchange.remoteAddress).startsWith('127.');
  const isServedHere =
    allowedHosts === 'any' || allowedHosts.every((name) => loopbackNames.includes(name));
  if (!isLocal || !isServedHere) return false;
  const [, authority = ''] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
  const { host = '' } = exchange.head;
  const [own, theirs] = [host, authority].map(loopbackPort);
  return own !== undefined && own === theirs && host !== authority;
}

/** Port of a loopback host, empty for the scheme's default; undefined for any other host. */
function loopbackPort(host: string): string | undefined {
  const port = /:\d+$/.exec(host)?.[0] ?? '';
  const name = host.slice(0, host.length - port.length).toLowerCase();
  return loopbackNames.includes(name) ? port : undefined;
}

/** The last accepted host. Most requests name the same one. */
let lastAllowed: { readonly host: string; readonly by: readonly string[] } | undefined = undefined;

function allowsHost(allowed: readonly string[], host: string): boolean {
  if (lastAllowed?.host === host && lastAllowed.by === allowed) return true;
  const name = host.toLowerCase();
  const isAllowed = allowed.includes(name) || allowed.includes(name.replace(/:\d+$/, ''));
  if (isAllowed) lastAllowed = { host, by: allowed };
  return isAllowed;
}

function allowsOrigin(
  allowed: NonNullable<HttpOptions['allowedOrigins']>,
  origin: string,
): boolean {
  return allowed === 'any' || allowed.includes(origin);
}

/**
 * True if an `Accept` header includes the media type. A missing header accepts everything; the most
 * specific range wins.
 *
 * @see RFC 9110, 12.5.1
 */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return true;
  const [kind] = type.split('/');
  const ranges = new Map(
    accept.split(',').map((part) => {
      const [range = '', ...params] = part.toLowerCase().split(';');
      const isRefused = params.some((param) => /^\s*q=0(\.0*)?\s*$/.test(param));
      return [range.trim(), isRefused ? 'refused' : 'taken'] as const;
    }),
  );
  const range = [type, `${kind}/*`, '*/*'].find((each) => ranges.has(each));
  return range !== undefined && ranges.get(range) === 'taken';
}

/** The last valid headers. A client sends the same ones with every message. */
let lastValid: {
  readonly types: readonly string[];
  readonly contentType: string | undefined;
  readonly encoding: string | undefined;
  readonly accept: string | undefined;
} = { types: [], contentType: undefined, encoding: undefined, accept: undefined };

/**
 * Validates the headers of a POST.
 *
 * @param types media types that the client must accept
 * @returns an error response; undefined if the headers are valid
 */
export function checkHeaders(
  { contentType, contentEncoding: encoding, accept }: RequestHead,
  types: readonly string[],
): HttpAnswer | undefined {
  if (
    types === lastValid.types &&
    contentType === lastValid.contentType &&
    encoding === lastValid.encoding &&
    accept === lastValid.accept
  ) {
    return undefined;
  }
  const [mediaType = ''] = contentType?.split(';') ?? [];
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    return httpError(
      415,
      `Content-Type must be application/json, got ${inspectValue(contentType)}`,
    );
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return httpError(415, `Unsupported Content-Encoding ${inspectValue(encoding)}`);
  }
  if (!types.every((type) => accepts(accept, type))) {
    return httpError(
      406,
      `Accept must include ${types.join(' and ')}, got ${inspectValue(accept)}`,
    );
  }
  lastValid = { types, contentType, encoding, accept };
  return undefined;
}

/** Response headers that clients need and browsers must expose. */
const exposedHeaders = 'Mcp-Session-Id, MCP-Protocol-Version, Retry-After, WWW-Authenticate';

/** How long browsers cache a preflight response, seconds: the longest they allow. */
const maxAgeSeconds = 7200;

/** CORS headers for every response; undefined if other origins are not served. */
export function corsHeaders(
  exchange: HttpExchange,
  options: HttpOptions,
): { readonly [name: string]: string } | undefined {
  const { origin } = exchange.head;
  if (options.allowedOrigins === undefined) {
    if (origin === undefined || !isOwnLoopbackOrigin(exchange, origin, options)) return undefined;
  }
  if (origin === undefined) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposedHeaders,
  };
}

/** Response to a CORS preflight; undefined for other requests. */
export function preflightAnswer(exchange: HttpExchange): HttpAnswer | undefined {
  const method = exchange.header('access-control-request-method');
  if (exchange.method !== 'OPTIONS' || method === undefined) return undefined;
  // Any header name: clients mirror tool parameters in headers whose names the tools choose.
  const names = exchange.header('access-control-request-headers')?.split(',') ?? [];
  const known = names
    .map((name) => name.trim())
    .filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name));
  const isPrivate = exchange.header('access-control-request-private-network') === 'true';
  return {
    status: 204,
    headers: {
      vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Private-Network',
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-max-age': String(maxAgeSeconds),
      ...(known.length === 0 ? {} : { 'access-control-allow-headers': known.join(', ') }),
      ...(isPrivate ? { 'access-control-allow-private-network': 'true' } : {}),
    },
  };
}
