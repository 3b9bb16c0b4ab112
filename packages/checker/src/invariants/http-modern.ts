/** HTTP invariants of the stateless era: headers that mirror the body, statuses, no sessions. */
import { formatResponse, isStream, isSuccess } from '../http/exchange.ts';
import type { ObservedExchange } from '../http/exchange.ts';
import { isJsonObject } from 'mcp-actors/internal';
import type { MoveType } from '../move.ts';
import { isStateless } from '../outgoing.ts';
import type { Trace } from '../trace.ts';
import { judgeAnswers, inEras, withStatus } from './http.ts';
import { broken, firstBroken, held, formatValue, untried } from './invariant.ts';
import type { Demand, Invariant, Judgement } from './invariant.ts';

const older = 'Earlier Streamable HTTP Revisions';
const modernAlone = 'a server that supports no earlier revision';

export const httpModernInvariants: readonly Invariant[] = [
  mismatch('http-version-mismatch', 'http-version', 'MCP-Protocol-Version differs from the body'),
  mismatch('http-method-mismatch', 'http-method', 'Mcp-Method differs from the body'),
  mismatch('http-method-missing', 'http-no-method', 'Mcp-Method is missing'),
  mismatch(
    'http-name-mismatch',
    'http-name',
    'Mcp-Name differs from the body',
    'a server that declares resources',
  ),
  {
    id: 'http-encoded-name',
    title: 'A Base64-encoded Mcp-Name is decoded before it is compared.',
    demanded: modern(
      'MUST',
      'Value Encoding',
      'servers MUST decode an encoded Mcp-Name or Mcp-Param-{Name} value before comparing it to the corresponding request body value',
    ),
    needs: 'a server that declares resources',
    judge: ({ whole }) =>
      judgeAnswers(whole, 'http-encoded-name', (exchange) =>
        codeOf(exchange) === -32_020
          ? broken(`It was answered with ${formatResponse(exchange)}`)
          : held,
      ),
  },
  {
    id: 'http-method-not-found',
    title: 'An unknown method is rejected with 404 and -32601.',
    demanded: modern(
      'MUST',
      'Protocol Version Header',
      'If the server does not implement the requested RPC method, it MUST respond with 404 Not Found and a JSON-RPC error with code -32601 (Method not found).',
    ),
    needs: 'a request with an unknown method',
    judge: ({ polite }) => judgeAnswers(polite, 'unknown-method', refusedWith(404, -32_601)),
  },
  {
    id: 'http-unsupported-revision',
    title: 'A nonexistent revision is rejected with 400.',
    demanded: modern(
      'MUST',
      'Protocol Version Header',
      'If the server does not implement the requested protocol version […], it MUST respond with 400 Bad Request and an UnsupportedProtocolVersionError listing its supported versions.',
    ),
    needs: 'a request in a nonexistent revision',
    judge: ({ polite }) => judgeAnswers(polite, 'revision-unknown', refusedWith(400, -32_022)),
  },
  {
    id: 'http-bare-request',
    title: 'A request that does not identify its client is rejected with 400.',
    demanded: () => ({
      demand: 'MUST',
      clause: {
        page: 'basic',
        heading: '_meta',
        quote: 'On HTTP, the response status MUST be 400 Bad Request.',
      },
    }),
    needs: 'a request without its envelope',
    judge: ({ polite }) => judgeAnswers(polite, 'bare', withStatus(400)),
  },
  {
    id: 'http-no-sessions',
    title: 'The server issues no session id.',
    demanded: modern(
      'SHOULD',
      older,
      'A server that supports only this revision and receives such traffic from an older client SHOULD respond as follows: […] An Mcp-Session-Id header on a request: ignore it, and do not mint or echo session IDs.',
    ),
    needs: modernAlone,
    judge: ({ whole }) =>
      !isModernAlone(whole)
        ? untried
        : firstBroken(
            whole.exchanges.map(({ headers: { 'mcp-session-id': id } }) =>
              id === undefined
                ? held
                : broken(`An answer has the header Mcp-Session-Id: ${formatValue(id)}`),
            ),
          ),
  },
  {
    id: 'http-session-ignored',
    title: 'A session id in a request is ignored.',
    demanded: modern(
      'SHOULD',
      older,
      'A server that supports only this revision and receives such traffic from an older client SHOULD respond as follows: […] An Mcp-Session-Id header on a request: ignore it, and do not mint or echo session IDs.',
    ),
    needs: modernAlone,
    judge: ({ whole }) =>
      judgeAnswers(whole, 'http-strange-session', (exchange) => {
        if (!isModernAlone(whole)) return untried;
        return isSuccess(exchange.status)
          ? held
          : broken(`It was answered with ${formatResponse(exchange)}`);
      }),
  },
  {
    id: 'http-methods',
    title: 'A server of this era only rejects GET and DELETE with 405.',
    demanded: modern(
      'SHOULD',
      older,
      'A server that supports only this revision and receives such traffic from an older client SHOULD respond as follows: […] HTTP GET or DELETE to the MCP endpoint: respond with 405 Method Not Allowed.',
    ),
    needs: modernAlone,
    judge: ({ whole }) => {
      if (!isModernAlone(whole)) return untried;
      return firstBroken(
        whole.exchanges
          .filter(({ purpose }) => purpose === 'stray')
          .map((exchange) => {
            if (exchange.status === 405) return held;
            // The server may also serve sessions of earlier revisions and reject a missing session
            // id.
            if (exchange.status >= 400 && exchange.status < 500) return untried;
            return broken(`${exchange.method} was answered with ${formatResponse(exchange)}`);
          }),
      );
    },
  },
  {
    id: 'http-buffering',
    title: 'Streams carry X-Accel-Buffering: no.',
    demanded: modern(
      'SHOULD',
      'Receiving Messages',
      'When initiating an SSE stream, servers SHOULD include the X-Accel-Buffering: no header in the HTTP response.',
    ),
    needs: 'a response on a stream',
    judge: ({ whole }) =>
      firstBroken(
        whole.exchanges
          .filter(isStream)
          .map(({ headers, sent }) =>
            headers['x-accel-buffering'] === 'no'
              ? held
              : broken(
                  `X-Accel-Buffering is ${formatValue(headers['x-accel-buffering'])}, for ${formatValue(sent)}`,
                ),
          ),
      ),
  },
  {
    id: 'http-listen-stream',
    title: 'A subscription is answered with a stream.',
    demanded: modern(
      'advice',
      'Receiving Messages',
      'Long-lived notification streams are obtained by sending a subscriptions/listen request. The server’s response is itself an SSE stream that stays open',
    ),
    needs: 'a server that offers subscriptions/listen',
    judge: ({ whole }) =>
      judgeAnswers(whole, 'listen', (exchange) => {
        // A rejected subscription, for example due to a limit, is not a subscription.
        if (!isSuccess(exchange.status) || codeOf(exchange) !== undefined) return untried;
        return isStream(exchange)
          ? held
          : broken(`It was answered with ${formatResponse(exchange)}`);
      }),
  },
];

function modern(demand: Demand, heading: string, quote: string): Invariant['demanded'] {
  return inEras(demand, undefined, { heading, quote });
}

/** True if server/discover lists no revision with sessions. */
function isModernAlone({ discovered }: Trace): boolean {
  const versions = discovered?.['supportedVersions'];
  return Array.isArray(versions) && versions.every((version) => isStateless(String(version)));
}

function mismatch(id: string, move: MoveType, what: string, needs = `the move ${move}`): Invariant {
  return {
    id,
    title: `A request whose ${what} is rejected with 400 and -32020.`,
    demanded: modern(
      'MUST',
      'Server Validation',
      'Servers that process the request body MUST reject requests where the values specified in the headers do not match the corresponding values in the request body. […] When rejecting a request due to header validation failure, servers MUST return HTTP status 400 Bad Request and MUST include a JSON-RPC error response using the following error code: […] -32020',
    ),
    needs,
    judge: ({ whole }) =>
      judgeAnswers(whole, move, (exchange) =>
        // An unknown version must also be rejected as such, and a response has only one error code.
        move === 'http-version' && exchange.status === 400 && codeOf(exchange) === -32_022
          ? untried
          : refusedWith(400, -32_020)(exchange),
      ),
  };
}

function refusedWith(status: number, code: number) {
  return (exchange: ObservedExchange): Judgement =>
    exchange.status === status && codeOf(exchange) === code
      ? held
      : broken(`It was answered with ${formatResponse(exchange)}`);
}

/** Error code in the body; undefined without an error. */
function codeOf({ body }: ObservedExchange): unknown {
  try {
    const value: unknown = JSON.parse(body);
    const error = isJsonObject(value) ? value['error'] : undefined;
    return isJsonObject(error) ? error['code'] : undefined;
  } catch {
    return undefined;
  }
}
