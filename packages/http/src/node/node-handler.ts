/** Serves requests of `node:http`. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { Principal, TokenExchange } from '../../../../src/protocol/request-origin.ts';
import type { TokenValidity } from '../token-validity.ts';
import { bodyTooLong } from '../bodies.ts';
import type { BodyRefusal, ReceivedBody } from '../bodies.ts';
import type {
  Body,
  ExchangeContext,
  HttpAnswer,
  HttpExchange,
  RequestHead,
} from '../http-exchange.ts';
import { clientKeyOf } from '../session-slots.ts';
import { WatchedSink } from '../watched-sink.ts';
import { NodeOutlet, pieceBytes } from './node-outlet.ts';
import { Retransmissions } from './retransmissions.ts';
import { Endpoint, controlled } from '../endpoint.ts';
import type { EndpointControl } from '../endpoint.ts';
import type { HttpOptions, ServerFactory } from '../options.ts';

type Headers = { readonly [name: string]: string };

/** Properties that frameworks add to a request. */
interface FrameworkRequest {
  /** The full target. Frameworks strip their mount path from `url`. */
  readonly originalUrl?: unknown;
  /** The body, if a body parser consumed it. */
  readonly body?: unknown;
}

/**
 * An absolute-form target, as sent by proxies. Its host overrides the header.
 *
 * @see RFC 9112, 3.2.2
 */
const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/i;

/** Reads all needed headers in one pass over the raw list. */
function readHead(raw: readonly string[], hostInTarget: string | undefined): RequestHead {
  let host: string | undefined;
  let origin: string | undefined;
  let accept: string | undefined;
  let authorization: string | undefined;
  let contentType: string | undefined;
  let contentEncoding: string | undefined;
  let sessionId: string | undefined;
  let protocolVersion: string | undefined;
  for (let at = 0; at < raw.length; at += 2) {
    const value = raw[at + 1] ?? '';
    switch (raw[at]?.toLowerCase()) {
      case 'host':
        host = joined(host, value);
        break;
      case 'origin':
        origin = joined(origin, value);
        break;
      case 'accept':
        accept = joined(accept, value);
        break;
      case 'authorization':
        authorization = joined(authorization, value);
        break;
      case 'content-type':
        contentType = joined(contentType, value);
        break;
      case 'content-encoding':
        contentEncoding = joined(contentEncoding, value);
        break;
      case 'mcp-session-id':
        sessionId = joined(sessionId, value);
        break;
      case 'mcp-protocol-version':
        protocolVersion = joined(protocolVersion, value);
        break;
      default:
    }
  }
  // Several `Host` values are rejected later, whatever the target says.
  if (!host?.includes(',')) host = hostInTarget ?? host;
  return {
    host,
    origin,
    accept,
    authorization,
    contentType,
    contentEncoding,
    sessionId,
    protocolVersion,
  };
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

export class NodeExchange implements HttpExchange {
  principal?: Principal;
  tokens?: TokenExchange;
  tokenValidity?: TokenValidity;
  readonly #request: IncomingMessage & FrameworkRequest;
  readonly #response: ServerResponse;
  readonly #endpoint: ExchangeContext;
  readonly #retransmissions: Retransmissions;
  readonly method: string;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  readonly head: RequestHead;
  #addedHeaders: Headers | undefined = undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: ExchangeContext,
    retransmissions: Retransmissions,
  ) {
    this.#endpoint = endpoint;
    this.#retransmissions = retransmissions;
    this.#request = request;
    this.#response = response;
    // Read for every socket. Node caches the address in the socket on first access; reading it for
    // only some would create two hidden classes of sockets and recompile every function that takes
    // one (docs/performance.md).
    this.remoteAddress = request.socket.remoteAddress;
    this.method = request.method ?? 'GET';
    const { originalUrl, url = '/', rawHeaders } = this.#request;
    const sent = typeof originalUrl === 'string' ? originalUrl : url;
    const [, host, path = sent] = sent.startsWith('/') ? [] : (absoluteForm.exec(sent) ?? []);
    this.target = host === undefined || path.startsWith('/') ? path : `/${path}`;
    this.head = readHead(rawHeaders, host);
  }

  header(name: string): string | undefined {
    const { head } = this;
    // Node's `headers` keeps only the first of these when repeated.
    if (name === 'host') return head.host;
    if (name === 'content-type') return head.contentType;
    if (name === 'authorization') return head.authorization;
    const { headers } = this.#request;
    // A client may send a header named like an `Object.prototype` member.
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return typeof value === 'object' ? value.join(', ') : value;
  }

  headerNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  readBody(done: (body: Body) => void, clientKey?: string): void {
    const request = this.#request;
    const { maxBodyBytes } = this.#endpoint.limits;
    if (request.readableEnded) return done(parsedBody(request.body, maxBodyBytes));
    const { headers } = request;
    const expected = Number(headers['content-length']);
    if (expected > maxBodyBytes) return done(bodyTooLong(maxBodyBytes));
    const refused = (refusal: BodyRefusal) => {
      request.off('data', take);
      request.off('end', end);
      done(refusal);
    };
    let body: ReceivedBody | undefined;
    // Most bodies arrive in one chunk and need no accounting.
    let whole: Uint8Array | undefined;
    const take = (chunk: Buffer) => {
      if (chunk.length === expected) {
        whole = chunk;
        return;
      }
      body ??= this.#received(clientKey ?? clientKeyOf(this), refused);
      body.append(chunk, body.length + chunk.length === expected);
    };
    const end = () => {
      const bytes = whole ?? body?.finish() ?? new Uint8Array(0);
      const coding = headers['transfer-encoding'] ?? 'chunked';
      done(coding.toLowerCase() === 'chunked' ? textOf(bytes) : unknownCoding(coding));
    };
    request.on('data', take);
    request.on('end', end);
  }

  #received(clientKey: string, refused: (refusal: BodyRefusal) => void): ReceivedBody {
    const body = this.#endpoint.bodies.open(clientKey, refused);
    this.#request.once('close', () => body.close());
    return body;
  }

  addHeaders(headers: Headers): void {
    this.#addedHeaders = { ...this.#addedHeaders, ...headers };
  }

  answer({ status, headers, body }: HttpAnswer): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    // `Object.assign`, because spreads would give each response's headers a hidden class of their
    // own.
    const all: Record<string, string | number> = Object.assign({}, this.#addedHeaders, headers);
    if (status !== 204) {
      all['content-length'] = body === undefined ? 0 : Buffer.byteLength(body);
    }
    const isLeft = this.#hasMuchUnread() || status === 408;
    if (isLeft) all['connection'] = 'close';
    response.writeHead(status, all);
    const text = this.method === 'HEAD' ? undefined : body;
    if (isLeft) {
      if (text === undefined) response.flushHeaders();
      else response.write(text);
      endAfterRequest(this.#request, response);
    } else if (text !== undefined && text.length > pieceBytes) {
      const sink = this.#sink();
      sink.write(text);
      sink.end();
    } else {
      response.end(text);
      if (response.writableLength > 0) this.#sink().end();
    }
  }

  stream(headers: Headers): WatchedSink {
    const response = this.#response;
    response.writeHead(200, { ...this.#addedHeaders, ...headers });
    response.flushHeaders();
    return this.#sink();
  }

  relay(status: number, headers: Headers): WatchedSink {
    const response = this.#response;
    response.writeHead(status, Object.assign({}, this.#addedHeaders, headers));
    response.flushHeaders();
    return this.#sink('elsewhere');
  }

  #sink(keptAlive?: 'elsewhere'): WatchedSink {
    const outlet = new NodeOutlet(this.#response, this.#retransmissions);
    return new WatchedSink(outlet, this.#endpoint, keptAlive);
  }

  get isDisconnected(): boolean {
    const response = this.#response;
    if (response.writableFinished) return false;
    return response.destroyed || (this.#isQueued && this.#request.socket.destroyed);
  }

  onDisconnected(callback: () => void): () => void {
    const response = this.#response;
    if (this.isDisconnected) {
      callback();
      return () => {};
    }
    const stop = this.#isQueued
      ? onClosed(this.#request.socket, () => this.#isQueued && callback())
      : undefined;
    const closed = (): void => {
      stop?.();
      if (!response.writableFinished) callback();
    };
    response.on('close', closed);
    return () => {
      stop?.();
      response.off('close', closed);
    };
  }

  /**
   * Pipelined responses are sent in request order; this one has no socket while earlier ones are
   * pending.
   */
  get #isQueued(): boolean {
    return !this.#response.socket && !this.#response.writableFinished;
  }

  /** True if more of the body is unread than is worth draining to keep the connection. */
  #hasMuchUnread(): boolean {
    const { complete, headers } = this.#request;
    if (complete) return false;
    return 'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > maxUnreadBody;
  }
}

/**
 * Callbacks per closed connection. One listener serves all, because a client may pipeline many
 * requests.
 */
const closeCallbacks = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls back when the connection closes. Node notifies only the response that currently has the
 * socket.
 */
function onClosed(socket: Socket, callback: () => void): () => void {
  const known = closeCallbacks.get(socket);
  const callbacks = known ?? new Set();
  if (!known) {
    closeCallbacks.set(socket, callbacks);
    socket.once('close', () => {
      for (const each of callbacks) each();
    });
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/** Largest rejected body that is drained to keep the connection, bytes. */
const maxUnreadBody = 64 * 1024;
/** Limits for draining a larger body: bytes, and milliseconds. */
const maxLingerBytes = 16 * 1024 ** 2;
const maxLingerMs = 2000;

/**
 * Ends a written response once the request was received completely, or too much of it. Closing
 * earlier would reset the connection, and the client might never read the response.
 */
function endAfterRequest(request: IncomingMessage, response: ServerResponse): void {
  let bytes = 0;
  const end = () => {
    clearTimeout(timer);
    request.off('data', take);
    response.end();
  };
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxLingerBytes) end();
  };
  const timer = setTimeout(end, maxLingerMs);
  request.on('data', take);
  request.once('close', end);
}

/** The body as parsed by a framework. */
function parsedBody(body: unknown, maxBytes: number): Body {
  if (body === undefined) {
    const message = 'The body was already read and is not in request.body';
    return { ok: false, status: 500, message };
  }
  const bytes = body instanceof Uint8Array ? body : Buffer.from(jsonOf(body));
  return bytes.length > maxBytes ? bodyTooLong(maxBytes) : textOf(bytes);
}

function jsonOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/**
 * Node decodes only the last transfer coding.
 *
 * @see RFC 9112, 6.1
 */
function unknownCoding(coding: string): Body {
  const message = `Unsupported Transfer-Encoding ${inspectValue(coding)}`;
  return { ok: false, status: 501, message };
}

/**
 * Parsers may ignore a byte order mark, and web platforms do.
 *
 * @see RFC 8259, 8.1
 */
const byteOrderMark = '\ufeff';

function textOf(bytes: Uint8Array): Body {
  const isBuffer = Buffer.isBuffer(bytes);
  const buffer = isBuffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = buffer.toString();
  // Invalid UTF-8 decodes to U+FFFD, which a client may also have sent.
  if (text.includes('\ufffd') && !isUtf8(buffer)) {
    return { ok: false, status: 400, message: 'The body is not UTF-8' };
  }
  return { ok: true, text: text.startsWith(byteOrderMark) ? text.slice(1) : text };
}

/** Serves requests of `node:http`. */
export interface NodeHandler extends EndpointControl {
  /** Serves one request. Never throws: failures become responses. */
  (request: IncomingMessage, response: ServerResponse): void;
}

/** Creates a request handler for `node:http`, Express and Fastify. */
export function nodeHandler(server: ServerFactory, options: HttpOptions = {}): NodeHandler {
  const endpoint = new Endpoint(server, options);
  // A vanished client is detected within two timeouts, even if the last write was a keepalive.
  const retransmissions = new Retransmissions(endpoint.limits.unreadTimeoutMs / 3);
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    endpoint.handle(new NodeExchange(request, response, endpoint, retransmissions));
  return controlled(handle, endpoint);
}
