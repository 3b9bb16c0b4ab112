/** Invariants on which responses arrive, and how often. */
import { isJsonObject } from 'mcp-actors/internal';
import { formatResponse, requestIdsIn, isOverloaded } from '../http/exchange.ts';
import { idKey } from '../message.ts';
import { formatExit } from '../trace.ts';
import type { Happening, TracedRequest, Trace } from '../trace.ts';
import {
  always,
  broken,
  firstBroken,
  held,
  messagesPage,
  formatValue,
  silent,
  untried,
} from './invariant.ts';
import type { Invariant, Judgement } from './invariant.ts';

const jsonRpc = 'JSON-RPC 2.0';

/** Judges whether the server answered a request, if the trace is long enough to require that. */
export function answered(trace: Trace, asked: TracedRequest): Judgement {
  if (trace.answersTo(asked.id).length > 0) return held;
  const cancelledAt = trace.cancelled.get(idKey(asked.id));
  if (cancelledAt !== undefined) return untried;
  const what = `${asked.method} with the id ${idKey(asked.id)}`;
  const refusal = trace.refusalOf(asked.id);
  // Odd HTTP requests have invariants of their own, and a body may be too long for HTTP.
  const isOdd = asked.move?.startsWith('http-') === true;
  if (refusal && (isOdd || refusal.status === 413 || isOverloaded(refusal))) return untried;
  if (refusal) return broken(`${what} received no message but ${formatResponse(refusal)}`);
  const { earlyEnd, settled } = trace;
  if (earlyEnd) {
    return broken(`The server ended ${formatExit(earlyEnd.exit)} and left ${what} unanswered`);
  }
  if (settled && !settled.ok && settled.at > asked.at) {
    return silent(`${what} was not answered in time`);
  }
  return untried;
}

export const answerInvariants: readonly Invariant[] = [
  {
    id: 'answered',
    title: 'Every request is answered, unless it was cancelled.',
    demanded: always(
      'MUST',
      jsonRpc,
      '5 Response object',
      'When a rpc call is made, the Server MUST reply with a Response, except for in the case of Notifications.',
    ),
    needs: 'a request',
    judge: ({ polite }) =>
      firstBroken(
        [...polite.clientRequests.values()]
          // An unsupported batch is a single fault with its own invariant.
          .filter(({ move }) => move !== 'batch')
          .map((asked) => (isRefusedWithoutId(polite, asked) ? held : answered(polite, asked))),
      ),
  },
  {
    id: 'answered-once',
    title: 'No request is answered twice.',
    demanded: always(
      'MUST',
      jsonRpc,
      '5 Response object',
      'When a rpc call is made, the Server MUST reply with a Response […]. The Response is expressed as a single JSON Object',
    ),
    needs: 'an answer',
    judge: ({ polite }) =>
      firstBroken(
        [...polite.clientRequests.values()].map(({ id, method }) => {
          const answers = polite.answersTo(id);
          if (answers.length === 0) return untried;
          if (answers.length === 1) return held;
          return broken(`${method} with the id ${idKey(id)} was answered ${answers.length} times`);
        }),
      ),
  },
  {
    id: 'same-id',
    title: 'A response has the id of a request, including the id’s type.',
    demanded: (revision) =>
      messagesPage(
        'MUST',
        'Responses',
        `${revision < '2025-11-25' ? 'Responses' : 'Result responses'} MUST include the same ID as the request they correspond to.`,
      )(revision),
    needs: 'a response',
    judge: ({ polite }) =>
      firstBroken(
        polite.responses
          .filter(({ message }) => message['id'] !== undefined && message['id'] !== null)
          .map(({ message, at }) => {
            const asked = polite.clientRequests.get(idKey(message['id']));
            return asked && asked.at < at
              ? held
              : broken(`No request has the id ${idKey(message['id'])}: ${formatValue(message)}`);
          }),
      ),
  },
  {
    id: 'notifications-silent',
    title: 'A notification is never answered.',
    demanded: (revision) =>
      revision === '2024-11-05'
        ? {
            demand: 'MUST',
            clause: {
              page: jsonRpc,
              heading: '4.1 Notification',
              quote: 'The Server MUST NOT reply to a Notification',
            },
          }
        : messagesPage('MUST', 'Notifications', 'The receiver MUST NOT send a response.')(revision),
    needs: 'a notification followed by an answered ping',
    judge: ({ polite }) => {
      const [first] = polite.happenings.flatMap((one, at) =>
        one.kind === 'sent' && isNotification(one.value) ? [at] : [],
      );
      if (first === undefined) return untried;
      // The client sent only requests and notifications, so a response without a request answers a
      // notification.
      const stray = polite.responses.find(
        ({ message, at }) =>
          at > first &&
          (message['id'] === undefined || message['id'] === null) &&
          !refusesRequest(polite.happenings[at]) &&
          !polite.of('big').some((asked) => asked.at < at && isRefusedWithoutId(polite, asked)),
      );
      if (stray)
        return broken(
          `Only requests and notifications were sent, but this arrived: ${formatValue(stray.message)}`,
        );
      return polite.waitedBetween(first, polite.happenings.length) ? held : untried;
    },
  },
  {
    id: 'ping',
    title: 'A ping is answered with an empty result.',
    demanded: always(
      'MUST',
      'basic/utilities/ping',
      'Behavior Requirements',
      'The receiver MUST respond promptly with an empty response',
    ),
    needs: 'a ping after initialize',
    judge: ({ polite }) => {
      const greeting = polite.greeting;
      if (!greeting) return untried;
      return firstBroken(
        [...polite.clientRequests.values()]
          .filter(
            ({ method, at, move }) =>
              method === 'ping' && at > greeting.request.at && move !== 'batch',
          )
          .map((asked) => {
            const answer = polite.answersTo(asked.id)[0];
            if (!answer) return answered(polite, asked);
            const { result } = answer.message;
            const isEmpty =
              isJsonObject(result) && Object.keys(result).every((key) => key === '_meta');
            return isEmpty
              ? held
              : broken(`The ping was answered with ${formatValue(answer.message)}`);
          }),
      );
    },
  },
  {
    id: 'batch',
    title: 'The requests of a batch are answered.',
    demanded: (revision) =>
      revision === '2025-03-26'
        ? messagesPage(
            'MUST',
            'Batching',
            'MCP implementations MAY support sending JSON-RPC batches, but MUST support receiving JSON-RPC batches.',
          )(revision)
        : undefined,
    needs: 'a batch',
    judge: ({ polite }) => firstBroken(polite.of('batch').map((asked) => answered(polite, asked))),
  },
  {
    id: 'method-not-found',
    title: 'An unknown method is rejected with -32601.',
    demanded: always(
      'advice',
      jsonRpc,
      '5.1 Error object',
      '-32601: Method not found. The method does not exist / is not available.',
    ),
    needs: 'a request with an unknown method',
    judge: ({ polite }) =>
      firstBroken(
        polite.of('unknown-method').map(({ id }) => {
          const answer = polite.answersTo(id)[0]?.message;
          if (!answer) return untried;
          const { error } = answer;
          return isJsonObject(error) && error['code'] === -32601
            ? held
            : broken(`An unknown method was answered with ${formatValue(answer)}`);
        }),
      ),
  },
];

/**
 * True for an error without id that rejects a request before its id was read, for example because
 * of its size. Over HTTP, the exchange identifies the request.
 */
function refusesRequest(one: Happening | undefined): boolean {
  return one?.kind === 'received' && one.via !== undefined && requestIdsIn(one.via).length > 0;
}

/**
 * True if a request was rejected by an error without its id: over HTTP in its own exchange; over
 * stdio if its line is so long that the server need not have read the id.
 */
function isRefusedWithoutId(trace: Trace, asked: TracedRequest): boolean {
  if (trace.answersTo(asked.id).length > 0) return false;
  const refusal = trace.refusalOf(asked.id);
  return trace.responses.some(({ message, at }) => {
    if (!isJsonObject(message['error']) || (message['id'] ?? null) !== null) return false;
    const one = trace.happenings[at];
    const via = one?.kind === 'received' ? one.via : undefined;
    if (via) return via === refusal;
    return asked.move === 'big' && at > asked.at;
  });
}

function isNotification(value: unknown): boolean {
  return isJsonObject(value) && typeof value['method'] === 'string' && !('id' in value);
}
