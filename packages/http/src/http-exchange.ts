/**
 * One HTTP request and its response, independent of the platform: Node's request and response, or
 * the web's `Request` and `Response`. Exchanges know nothing of MCP.
 */
import type { TokenValidity } from './token-validity.ts';
import type {
  Principal,
  ServedHttpRequest,
  TokenExchange,
} from '../../../src/protocol/request-origin.ts';
import type { Bodies, BodyRefusal } from './bodies.ts';
import { forwardHeader } from './nodes/forwarding-protocol.ts';
import type { HttpLimits } from './options.ts';
import type { SinkContext, WatchedSink } from './watched-sink.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
}

/** The text of a body, or why it could not be read. */
export type Body = { readonly ok: true; readonly text: string } | BodyRefusal;

/** Settings shared by all exchanges of an endpoint. */
export interface ExchangeContext extends SinkContext {
  readonly limits: HttpLimits;
  readonly bodies: Bodies;
}

/**
 * Headers that the endpoint needs of every request, parsed once. Repeated headers are joined with
 * commas.
 */
export interface RequestHead {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly accept: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** `Mcp-Session-Id` */
  readonly sessionId: string | undefined;
  /** `MCP-Protocol-Version` */
  readonly protocolVersion: string | undefined;
}

export interface HttpExchange extends ServedHttpRequest {
  readonly head: RequestHead;
  /** The authenticated caller; set before the request is routed. */
  principal?: Principal;
  /** Token exchange for the caller's token; undefined if not configured. */
  tokens?: TokenExchange;
  /** Validity of the caller's token for streams; undefined without authorization. */
  tokenValidity?: TokenValidity;
  /**
   * Reads any header, including credentials.
   *
   * @param name lower case
   */
  header(name: string): string | undefined;
  /** Names of all headers, lower case. */
  headerNames(): readonly string[];
  /**
   * Tells the forwarding node that the session is not owned here. Only set on forwarded requests,
   * which are not forwarded again.
   */
  answerMoved?(): void;
  /** The node that forwarded this request. */
  readonly forwardedBy?: string;
  /**
   * Reads the body, which must be UTF-8. Calls back once, or never if the client disconnects first.
   *
   * @param clientKey quota key that the bytes count towards; default: the sender's
   */
  readBody(done: (body: Body) => void, clientKey?: string): void;
  /** Adds headers to any later response. */
  addHeaders(headers: { readonly [name: string]: string }): void;
  /** Sends a complete response. A client that does not read it is cut off. */
  answer(answer: HttpAnswer): void;
  /** Starts a response of server-sent events. */
  stream(headers: { readonly [name: string]: string }): WatchedSink;
  /** Starts relaying another node's response; that node sends the keepalives. */
  relay(status: number, headers: { readonly [name: string]: string }): WatchedSink;
  /** True if the client disconnected before the response was complete. */
  readonly isDisconnected: boolean;
  /**
   * Calls back if the client disconnects before the response is complete.
   *
   * @returns removes the callback
   */
  onDisconnected(callback: () => void): () => void;
}

/** Headers with credentials, or trusted between nodes: never shown to handlers. */
export const secretHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  forwardHeader,
]);

/**
 * True for headers that handlers must not see.
 *
 * @param name lower case
 */
export function isSecretHeader(name: string): boolean {
  return secretHeaders.has(name);
}

/** The request as handlers see it, without credentials. */
export function requestForHandlers(exchange: HttpExchange): ServedHttpRequest {
  return {
    method: exchange.method,
    target: exchange.target,
    remoteAddress: exchange.remoteAddress,
    header(name) {
      const key = name.toLowerCase();
      return isSecretHeader(key) ? undefined : exchange.header(key);
    },
    headerNames: () => exchange.headerNames().filter((name) => !isSecretHeader(name)),
  };
}
