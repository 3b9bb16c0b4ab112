/** An exchange over the request and the response of `node:http`. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { Principal, TokenExchange } from '../../../../src/protocol/request-origin.ts';
import type { TokenValidity } from '../admission.ts';
import { bodyTooLong } from '../bodies.ts';
import type { BodyRefusal, ReceivedBody } from '../bodies.ts';
import type {
  Body,
  ExchangeHome,
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

/** What a framework may have put on a request. */
interface Prepared {
  /** The whole target: a framework that mounts a handler below a path takes that path off `url`. */
  readonly originalUrl?: unknown;
  /** The body, if a body parser has read it. */
  readonly body?: unknown;
}

/**
 * A target as proxies send it. The host in it counts, not the one of the header.
 *
 * @see RFC 9112, 3.2.2
 */
const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/i;

/** Reads the head from the headers as they were sent, in one go. */
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
  // Several hosts are refused, whatever the target says.
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
  admission?: TokenValidity;
  readonly #request: IncomingMessage & Prepared;
  readonly #response: ServerResponse;
  readonly #home: ExchangeHome;
  readonly #retransmissions: Retransmissions;
  readonly method: string;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  readonly head: RequestHead;
  #added: Headers | undefined = undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    home: ExchangeHome,
    retransmissions: Retransmissions,
  ) {
    this.#home = home;
    this.#retransmissions = retransmissions;
    this.#request = request;
    this.#response = response;
    // Node keeps the address in the socket once it is asked for it. If only some were asked, there
    // would be two hidden classes of sockets, and node would compile each function that takes a socket
    // a second time (docs/performance.md).
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
    // Node keeps only the first of several such headers.
    if (name === 'host') return head.host;
    if (name === 'content-type') return head.contentType;
    if (name === 'authorization') return head.authorization;
    const { headers } = this.#request;
    // A client's name may be one that every object has.
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return typeof value === 'object' ? value.join(', ') : value;
  }

  headerNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  readBody(done: (body: Body) => void, party?: string): void {
    const request = this.#request;
    const { maxBodyBytes } = this.#home.limits;
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
    // Most bodies come in one piece, and count towards nothing.
    let whole: Uint8Array | undefined;
    const take = (chunk: Buffer) => {
      if (chunk.length === expected) {
        whole = chunk;
        return;
      }
      body ??= this.#received(party ?? clientKeyOf(this), refused);
      body.take(chunk, body.length + chunk.length === expected);
    };
    const end = () => {
      const bytes = whole ?? body?.finish() ?? new Uint8Array(0);
      const coding = headers['transfer-encoding'] ?? 'chunked';
      done(coding.toLowerCase() === 'chunked' ? textOf(bytes) : unknownCoding(coding));
    };
    request.on('data', take);
    request.on('end', end);
  }

  #received(party: string, refused: (refusal: BodyRefusal) => void): ReceivedBody {
    const body = this.#home.bodies.begin(party, refused);
    this.#request.once('close', () => body.leave());
    return body;
  }

  addHeaders(headers: Headers): void {
    this.#added = { ...this.#added, ...headers };
  }

  answer({ status, headers, body }: HttpAnswer): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    // Not with spreads: each answer's headers would have a hidden class of their own.
    const all: Record<string, string | number> = Object.assign({}, this.#added, headers);
    if (status !== 204) {
      all['content-length'] = body === undefined ? 0 : Buffer.byteLength(body);
    }
    const isLeft = this.#isMuchLeft() || status === 408;
    if (isLeft) all['connection'] = 'close';
    response.writeHead(status, all);
    const text = this.method === 'HEAD' ? undefined : body;
    if (isLeft) {
      if (text === undefined) response.flushHeaders();
      else response.write(text);
      endAfter(this.#request, response);
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
    response.writeHead(200, { ...this.#added, ...headers });
    response.flushHeaders();
    return this.#sink();
  }

  relay(status: number, headers: Headers): WatchedSink {
    const response = this.#response;
    response.writeHead(status, Object.assign({}, this.#added, headers));
    response.flushHeaders();
    return this.#sink('elsewhere');
  }

  #sink(keptAlive?: 'elsewhere'): WatchedSink {
    const outlet = new NodeOutlet(this.#response, this.#retransmissions);
    return new WatchedSink(outlet, this.#home, keptAlive);
  }

  get isGone(): boolean {
    const response = this.#response;
    if (response.writableFinished) return false;
    return response.destroyed || (this.#waitsForItsTurn && this.#request.socket.destroyed);
  }

  onGone(callback: () => void): () => void {
    const response = this.#response;
    if (this.isGone) {
      callback();
      return () => {};
    }
    const stop = this.#waitsForItsTurn
      ? onClosed(this.#request.socket, () => this.#waitsForItsTurn && callback())
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

  /** Answers come in the order of the requests: one has no connection while others are before it. */
  get #waitsForItsTurn(): boolean {
    return !this.#response.socket && !this.#response.writableFinished;
  }

  /** Whether more of the body is on its way than node should read only to keep the connection. */
  #isMuchLeft(): boolean {
    const { complete, headers } = this.#request;
    if (complete) return false;
    return 'transfer-encoding' in headers || Number(headers['content-length'] ?? 0) > maxUnreadBody;
  }
}

/** What is called when a connection ends. One listener for all: a client may send many requests at once. */
const closing = new WeakMap<Socket, Set<() => void>>();

/** Calls back when a connection is closed. Node tells that only to the response whose turn it is. */
function onClosed(socket: Socket, callback: () => void): () => void {
  const known = closing.get(socket);
  const callbacks = known ?? new Set();
  if (!known) {
    closing.set(socket, callbacks);
    socket.once('close', () => {
      for (const each of callbacks) each();
    });
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/** How long a body that nobody wants may be, bytes, so that its connection is kept. */
const maxUnreadBody = 64 * 1024;
/** How much is still read of a longer one, bytes, and for how long, milliseconds. */
const maxLingerBytes = 16 * 1024 ** 2;
const maxLingerMs = 2000;

/**
 * Ends a response that has been written, when its client has sent all, or too much of what nobody
 * wants. A connection that is closed before is reset, and the client may never read the answer.
 */
function endAfter(request: IncomingMessage, response: ServerResponse): void {
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

/** What a framework's body parser has made of the body. */
function parsedBody(body: unknown, maxBytes: number): Body {
  if (body === undefined) {
    const message = 'The body was read before, and is not in request.body';
    return { ok: false, status: 500, message };
  }
  const bytes = body instanceof Uint8Array ? body : Buffer.from(jsonOf(body));
  return bytes.length > maxBytes ? bodyTooLong(maxBytes) : textOf(bytes);
}

function jsonOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Node takes off the last coding alone. @see RFC 9112, 6.1 */
function unknownCoding(coding: string): Body {
  const message = `The Transfer-Encoding ${inspectValue(coding)} is not supported`;
  return { ok: false, status: 501, message };
}

/** May be ignored, and is wherever a body is read as the web's standards say. @see RFC 8259, 8.1 */
const byteOrderMark = '\ufeff';

function textOf(bytes: Uint8Array): Body {
  const isBuffer = Buffer.isBuffer(bytes);
  const buffer = isBuffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = buffer.toString();
  // What is not UTF-8 becomes this character. It may also have been sent.
  if (text.includes('\ufffd') && !isUtf8(buffer)) {
    return { ok: false, status: 400, message: 'The body is not UTF-8' };
  }
  return { ok: true, text: text.startsWith(byteOrderMark) ? text.slice(1) : text };
}

/** Answers requests of `node:http`. */
export interface NodeHandler extends EndpointControl {
  /** Answers one request. It never throws: what goes wrong is a response. */
  (request: IncomingMessage, response: ServerResponse): void;
}

/** A server as a handler of node's requests: for `node:http`, Express and Fastify. */
export function nodeHandler(server: ServerFactory, options: HttpOptions = {}): NodeHandler {
  const endpoint = new Endpoint(server, options);
  // A client that is gone is found in a minute, even if the last that was sent to it was a comment.
  const retransmissions = new Retransmissions(endpoint.limits.unreadTimeoutMs / 3);
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    endpoint.handle(new NodeExchange(request, response, endpoint, retransmissions));
  return controlled(handle, endpoint);
}
