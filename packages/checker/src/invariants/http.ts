/** Invariants specific to HTTP: statuses, content types, sessions. */
import {
  formatResponse,
  requestIdsIn,
  isStream,
  isSuccess,
  isOverloaded,
} from '../http/exchange.ts';
import type { ObservedExchange } from '../http/exchange.ts';
import { isJsonObject } from 'mcp-actors/internal';
import type { MoveType } from '../move.ts';
import { isStateless } from '../outgoing.ts';
import type { Trace } from '../trace.ts';
import { broken, firstBroken, held, formatValue, untried } from './invariant.ts';
import type { Clause, Demand, Invariant, Judgement } from './invariant.ts';
import { messageFault } from './messages.ts';

/** True if a revision has the Streamable HTTP transport. */
export function hasStreamableHttp(revision: string): boolean {
  return revision !== '2024-11-05';
}

/** True if clients of a revision send it in a header. */
export function hasVersionHeader(revision: string): boolean {
  return revision >= '2025-06-18';
}

/** Page of a revision's specification on HTTP transports. */
function page(revision: string): string {
  return isStateless(revision) ? 'basic/transports/streamable-http' : 'basic/transports';
}

interface Words {
  readonly heading: string;
  readonly quote: string;
}

type Demanded = { readonly demand: Demand; readonly clause: Clause } | undefined;

/** Builds a demand of both eras, quoted from each. */
export function inEras(demand: Demand, legacy: Words | undefined, modern: Words | undefined) {
  return (revision: string): Demanded => {
    const words = isStateless(revision) ? modern : legacy;
    return words && { demand, clause: { page: page(revision), ...words } };
  };
}

const sending = 'Sending Messages to the Server';
const sessions = 'Session Management';

/** Judges the HTTP exchange of each request that a move sent. */
export function judgeAnswers(
  trace: Trace,
  move: MoveType,
  judge: (exchange: ObservedExchange) => Judgement,
): Judgement {
  return firstBroken(
    trace.of(move).map(({ id }) => {
      const exchange = trace.exchangeOf(id);
      return exchange && !isOverloaded(exchange) ? judge(exchange) : untried;
    }),
  );
}

/** Holds if the HTTP response has this status. */
export function withStatus(status: number) {
  return (exchange: ObservedExchange): Judgement =>
    exchange.status === status ? held : broken(`It was answered with ${formatResponse(exchange)}`);
}

/** True for an exchange that carried only a notification or a response. */
function isSilent(exchange: ObservedExchange): boolean {
  const { sent, purpose } = exchange;
  if (purpose !== 'message' || !isJsonObject(sent) || requestIdsIn(exchange).length > 0)
    return false;
  return typeof sent['method'] === 'string' || 'result' in sent || 'error' in sent;
}

/** Invariants of both eras. */
export const httpInvariants: readonly Invariant[] = [
  {
    id: 'http-messages',
    title: 'JSON bodies and events contain only messages.',
    demanded: (revision) => ({
      demand: 'MUST',
      clause: {
        page: 'basic/transports',
        heading: isStateless(revision) ? 'Messages' : 'Transports',
        quote: 'MCP uses JSON-RPC to encode messages. JSON-RPC messages MUST be UTF-8 encoded.',
      },
    }),
    needs: 'an answer',
    judge: ({ whole, revision }) =>
      firstBroken(
        whole.happenings
          .filter((one) => one.kind === 'received')
          .map(({ text, value }) => {
            const fault = messageFault(value, revision);
            return fault === undefined ? held : broken(`${fault}: ${formatValue(text)}`);
          }),
      ),
  },
  {
    id: 'http-accepted',
    title: 'An accepted notification or response is answered with 202 and no body.',
    demanded: inEras(
      'MUST',
      {
        heading: sending,
        quote:
          'If the server accepts the input, the server MUST return HTTP status code 202 Accepted with no body.',
      },
      {
        heading: 'Sending Messages',
        quote:
          'If the server accepts it, the server MUST return HTTP status code 202 Accepted with no body.',
      },
    ),
    needs: 'a notification or response that the server accepts',
    judge: ({ whole }) =>
      firstBroken(
        whole.exchanges.filter(isSilent).map((exchange) => {
          const { status, body } = exchange;
          if (status >= 400) return untried;
          return status === 202 && body === '' && !isStream(exchange)
            ? held
            : broken(`${formatValue(exchange.sent)} was answered with ${formatResponse(exchange)}`);
        }),
      ),
  },
  {
    id: 'http-content-type',
    title: 'A request is answered with application/json or text/event-stream.',
    demanded: inEras(
      'MUST',
      {
        heading: sending,
        quote:
          'the server MUST either return Content-Type: text/event-stream, to initiate an SSE stream, or Content-Type: application/json, to return one JSON object.',
      },
      {
        heading: 'Sending Messages',
        quote:
          'the server MUST return either Content-Type: application/json (a single JSON object) or Content-Type: text/event-stream (an SSE response stream).',
      },
    ),
    needs: 'a request that the server accepts',
    judge: ({ whole }) =>
      firstBroken(
        whole.exchanges.map((exchange) => {
          const { purpose, status, contentType } = exchange;
          const isServed = purpose === 'message' && requestIdsIn(exchange).length > 0;
          if (!isServed || !isSuccess(status)) return untried;
          return ['application/json', 'text/event-stream'].includes(contentType)
            ? held
            : broken(`${formatValue(exchange.sent)} was answered with ${formatResponse(exchange)}`);
        }),
      ),
  },
  {
    id: 'http-origin',
    title: 'A request with a foreign Origin is rejected.',
    demanded: (revision) => {
      const hasStatus = revision >= '2025-11-25';
      const heading = isStateless(revision) ? 'Security & Endpoint' : 'Security Warning';
      const quote = hasStatus
        ? 'If the Origin header is present and invalid, servers MUST respond with HTTP 403 Forbidden.'
        : 'Servers MUST validate the Origin header on all incoming connections to prevent DNS rebinding attacks';
      return { demand: 'MUST', clause: { page: page(revision), heading, quote } };
    },
    needs: 'the move http-origin',
    judge: ({ whole, revision }) =>
      judgeAnswers(whole, 'http-origin', (exchange) => {
        // Before 2025-11-25 the specification named no status.
        const isRefused =
          revision >= '2025-11-25' ? exchange.status === 403 : exchange.status >= 400;
        return isRefused ? held : broken(`It was answered with ${formatResponse(exchange)}`);
      }),
  },
];

/** Invariants of the era with sessions. */
export const httpSessionInvariants: readonly Invariant[] = [
  {
    id: 'http-get',
    title: 'GET opens an event stream or is rejected with 405.',
    demanded: inEras(
      'MUST',
      {
        heading: 'Listening for Messages from the Server',
        quote:
          'The server MUST either return Content-Type: text/event-stream in response to this HTTP GET, or else return HTTP 405 Method Not Allowed',
      },
      undefined,
    ),
    needs: 'a client that opens a GET stream',
    judge: ({ polite }) =>
      firstBroken(
        polite.exchanges
          .filter((exchange) => exchange.purpose === 'stream' && !isOverloaded(exchange))
          .map((exchange) =>
            isStream(exchange) || exchange.status === 405
              ? held
              : broken(`It was answered with ${formatResponse(exchange)}`),
          ),
      ),
  },
  {
    id: 'http-version',
    title: 'A nonexistent MCP-Protocol-Version is rejected with 400.',
    demanded: (revision) =>
      !hasVersionHeader(revision)
        ? undefined
        : {
            demand: 'MUST',
            clause: {
              page: page(revision),
              heading: 'Protocol Version Header',
              quote:
                'If the server receives a request with an invalid or unsupported MCP-Protocol-Version, it MUST respond with 400 Bad Request.',
            },
          },
    needs: 'the move http-version',
    judge: ({ whole }) => judgeAnswers(whole, 'http-version', withStatus(400)),
  },
  {
    id: 'http-session-id',
    title: 'A session id consists of visible ASCII.',
    demanded: inEras(
      'MUST',
      {
        heading: sessions,
        quote:
          'The session ID MUST only contain visible ASCII characters (ranging from 0x21 to 0x7E).',
      },
      undefined,
    ),
    needs: 'a server with sessions',
    judge: ({ whole }) =>
      firstBroken(
        whole.exchanges.map(({ headers: { 'mcp-session-id': id } }) => {
          if (id === undefined) return untried;
          return /^[\x21-\x7e]+$/.test(id) ? held : broken(`The id is ${formatValue(id)}`);
        }),
      ),
  },
  {
    id: 'http-no-session',
    title: 'A request without its session id is rejected with 400.',
    demanded: inEras(
      'SHOULD',
      {
        heading: sessions,
        quote:
          'Servers that require a session ID SHOULD respond to requests without an […] header (other than initialization) with HTTP 400 Bad Request.',
      },
      undefined,
    ),
    needs: 'a server that requires session ids',
    judge: ({ whole }) =>
      judgeAnswers(whole, 'http-no-session', (exchange) =>
        isSuccess(exchange.status) ? untried : withStatus(400)(exchange),
      ),
  },
  {
    id: 'http-unknown-session',
    title: 'A request with an unknown session id is rejected with 404.',
    // The specification covers sessions the server ended, and servers need not remember those.
    demanded: inEras('advice', { heading: sessions, quote: ended() }, undefined),
    needs: 'a server with sessions',
    judge: ({ whole }) => judgeAnswers(whole, 'http-strange-session', withStatus(404)),
  },
  {
    id: 'http-ended-session',
    title: 'A request to an ended session is rejected with 404.',
    demanded: inEras('MUST', { heading: sessions, quote: ended() }, undefined),
    needs: 'a server that lets clients end their sessions with DELETE',
    judge: ({ whole }) => {
      const end = whole.exchanges.find(({ purpose }) => purpose === 'deletion');
      return end && isSuccess(end.status)
        ? judgeAnswers(whole, 'http-gone', withStatus(404))
        : untried;
    },
  },
];

function ended(): string {
  return 'The server MAY terminate the session at any time, after which it MUST respond to requests containing that session ID with HTTP 404 Not Found.';
}
