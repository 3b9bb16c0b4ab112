/**
 * One HTTP request and its answer, as the endpoint sees them. Each kind of host has its own: node's
 * request and response, or the `Request` and `Response` of the web's standard. Neither knows what
 * is said over it.
 */
import type { TokenValidity } from './admission.ts';
import type {
  Principal,
  ServedHttpRequest,
  TokenExchange,
} from '../../../src/protocol/request-origin.ts';
import type { Bodies, BodyRefusal } from './bodies.ts';
import { forwardHeader } from './nodes/forwarding.ts';
import type { HttpLimits } from './options.ts';
import type { SinkHome, WatchedSink } from './watched-sink.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
}

/** A body that was read, or why it was not. */
export type Body = { readonly ok: true; readonly text: string } | BodyRefusal;

/** What the exchanges of an endpoint have in common. */
export interface ExchangeHome extends SinkHome {
  readonly limits: HttpLimits;
  readonly bodies: Bodies;
}

/**
 * What an endpoint reads of every request's headers, and reads once. The values of a header that was
 * sent several times are joined with commas.
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
  /** Who makes the request; the endpoint finds that out before anything else looks at it. */
  principal?: Principal;
  /** Exchanges the token that it came with; undefined if it is not exchanged. */
  tokens?: TokenExchange;
  /** For how long its token lets a stream go on; undefined without authorization. */
  admission?: TokenValidity;
  /** Any header, those that authenticate the client too. By the name in lower case. */
  header(name: string): string | undefined;
  /** The names of all headers, in lower case. */
  headerNames(): readonly string[];
  /** Set if another node has forwarded the request: it is not forwarded again. Says that the session is not here. */
  notHere?(): void;
  /** The node that has forwarded it to this one. */
  readonly handedBy?: string;
  /**
   * Reads the body, which must be UTF-8. Calls back once, or never if the client goes first.
   * @param party whose share of the bounds it counts towards; by default its sender's
   */
  readBody(done: (body: Body) => void, party?: string): void;
  /** Headers for whatever it will be answered with. */
  addHeaders(headers: { readonly [name: string]: string }): void;
  /** Answers it, and ends the answer. A client that does not take it is cut off. */
  answer(answer: HttpAnswer): void;
  /** Begins an answer of server-sent events. */
  stream(headers: { readonly [name: string]: string }): WatchedSink;
  /** Begins a response that another node has made, and keeps alive. */
  relay(status: number, headers: { readonly [name: string]: string }): WatchedSink;
  /** Whether the client has gone before its answer was complete: nothing should be opened for it. */
  readonly isGone: boolean;
  /**
   * Calls back if the client goes before the answer is complete.
   * @returns calls it off
   */
  onGone(callback: () => void): () => void;
}

/** Headers that show who the client is, or that nodes believe, and are shown to nobody. */
export const secretHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  forwardHeader,
]);

/** Whether a header, by its name in lower case, is shown to nobody. */
export function isSecret(name: string): boolean {
  return secretHeaders.has(name);
}

/** The request as a handler sees it. */
export function servedRequest(exchange: HttpExchange): ServedHttpRequest {
  return {
    method: exchange.method,
    target: exchange.target,
    remoteAddress: exchange.remoteAddress,
    header(name) {
      const key = name.toLowerCase();
      return isSecret(key) ? undefined : exchange.header(key);
    },
    headerNames: () => exchange.headerNames().filter((name) => !isSecret(name)),
  };
}
