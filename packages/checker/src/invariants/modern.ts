/**
 * Invariants of the stateless era: discovery, request envelopes, input requests, subscriptions,
 * cache hints.
 */
import type { JsonObject } from 'mcp-actors';
import { MetaKey, Method, isJsonObject } from 'mcp-actors/internal';
import { idKey } from '../message.ts';
import type { TracedMessage, TracedRequest, Trace } from '../trace.ts';
import { judgeRefusal, refuses } from './capabilities.ts';
import { always, broken, firstBroken, held, formatValue, untried } from './invariant.ts';
import type { Invariant, Judgement } from './invariant.ts';

const stdio = 'basic/transports/stdio';
const rounds = 'basic/patterns/mrtr';
const subscriptions = 'basic/patterns/subscriptions';
const needsAsking = 'a tool that requests input: name one with --call';

/** Invariants of this era only. */
export const statelessInvariants: readonly Invariant[] = [
  {
    id: 'no-requests',
    title: 'The server sends no requests.',
    demanded: always(
      'MUST',
      stdio,
      'Receiving Messages',
      'The server MUST NOT write JSON-RPC requests to stdout.',
    ),
    needs: 'an answer',
    judge: ({ whole }) => {
      const [first] = whole.requests;
      if (first) return broken(`This arrived: ${formatValue(first.message)}`);
      return whole.responses.length > 0 ? held : untried;
    },
  },
  {
    id: 'discover',
    title: 'server/discover returns the revisions and the capabilities, from the first moment.',
    demanded: always('MUST', 'server/discover', 'Discovery', 'Servers MUST implement it.'),
    needs: 'server/discover',
    judge: ({ polite, revision }) =>
      ofResults(polite, ofMethod(Method.discover), ({ supportedVersions, capabilities }) => {
        if (!Array.isArray(supportedVersions) || !supportedVersions.includes(revision)) {
          return `supportedVersions is ${formatValue(supportedVersions)}, but the request used ${revision}`;
        }
        return isJsonObject(capabilities)
          ? undefined
          : `capabilities is ${formatValue(capabilities)}`;
      }),
  },
  {
    id: 'result-type',
    title: 'Every result has a type.',
    demanded: always(
      'MUST',
      'basic',
      'Result Responses',
      'The result MUST include a resultType field to indicate the type of the result.',
    ),
    needs: 'a result',
    judge: ({ whole }) =>
      ofResults(
        whole,
        ({ move }) => move !== 'bare',
        ({ resultType }) =>
          typeof resultType === 'string' ? undefined : `resultType is ${formatValue(resultType)}`,
      ),
  },
  {
    id: 'unsupported-revision',
    title: 'A nonexistent revision is rejected with -32022, listing the supported ones.',
    demanded: always(
      'MUST',
      'basic/versioning',
      'Protocol Version Negotiation',
      'it MUST respond with an UnsupportedProtocolVersionError listing the versions it does support',
    ),
    needs: 'a request in a nonexistent revision',
    judge: ({ polite, revision }) =>
      firstBroken(
        polite.of('revision-unknown').map(({ id }) => {
          const answer = polite.answersTo(id)[0]?.message;
          const verdict = judgeRefusal(polite, id, -32_022);
          if (!answer || verdict !== held) return verdict;
          const { data } = answer['error'] as JsonObject;
          const supported = isJsonObject(data) ? data['supported'] : undefined;
          return Array.isArray(supported) && supported.includes(revision)
            ? held
            : broken(`data.supported is ${formatValue(supported)}`);
        }),
      ),
  },
  {
    id: 'bare-request',
    title: 'A request that does not identify its client is rejected with -32602.',
    demanded: always(
      'MUST',
      'basic',
      '_meta',
      'A request missing any required field is malformed; the server MUST reject it with JSON-RPC error code -32602 (Invalid params).',
    ),
    needs: 'a request without an envelope, after one with it',
    judge: ({ polite }) =>
      firstBroken(polite.of('bare').map(({ id }) => judgeRefusal(polite, id, -32_602))),
  },
  {
    id: 'removed-method',
    title: 'A ping is rejected with -32601, because this revision has none.',
    demanded: always(
      'advice',
      'JSON-RPC 2.0',
      '5.1 Error object',
      '-32601: Method not found. The method does not exist / is not available.',
    ),
    needs: 'a ping',
    judge: ({ polite }) =>
      firstBroken(polite.of('removed').map(({ id }) => judgeRefusal(polite, id, -32_601))),
  },
  {
    id: 'defined-codes',
    title: 'No error uses a reserved but undefined code.',
    demanded: always(
      'MUST',
      'basic',
      'Error Codes',
      'Implementations MUST NOT emit any code from this sub-range that is not defined by this specification',
    ),
    needs: 'an error',
    judge: ({ whole }) =>
      firstBroken(
        whole.responses.map(({ message }) => {
          const { error } = message;
          const code = isJsonObject(error) ? error['code'] : undefined;
          if (typeof code !== 'number') return untried;
          const isReserved = code <= -32_020 && code >= -32_099;
          const isForbidden = (isReserved && code < -32_022) || code === -32_002;
          return isForbidden ? broken(`This arrived: ${formatValue(message)}`) : held;
        }),
      ),
  },
  {
    id: 'asks-where-it-may',
    title:
      'Only calls of tools, prompts and resources request input, and only with allowed methods.',
    demanded: always(
      'MUST',
      rounds,
      'Supported Requests',
      'Servers MUST NOT send InputRequiredResult responses on any other client requests.',
    ),
    needs: needsAsking,
    judge: ({ polite }) =>
      firstBroken(
        askingIn(polite).map(({ asked, result }) => {
          if (!mayAsk.has(asked.method))
            return broken(`${asked.method} requests input: ${formatValue(result)}`);
          const { inputRequests, requestState } = result;
          if (inputRequests === undefined && requestState === undefined) {
            return broken(
              `Neither inputRequests nor requestState is present: ${formatValue(result)}`,
            );
          }
          const odd = questionsIn(result).find((method) => !questions.has(method));
          return odd === undefined ? held : broken(`It requests ${formatValue(odd)}`);
        }),
      ),
  },
  {
    id: 'asks-what-is-declared',
    title: 'No input is requested that the client of the request has not declared.',
    demanded: always(
      'MUST',
      rounds,
      'Server Requirements (Basic Workflow)',
      'Servers MUST NOT send an inputRequests that the client has not declared support for in its capabilities.',
    ),
    needs: `${needsAsking}; called by a client that declares nothing`,
    judge: ({ polite, askingTools }) =>
      firstBroken(
        polite.of('call-bare').flatMap(({ id, params }) =>
          polite.answersTo(id).map(({ message }): Judgement => {
            const { result } = message;
            const asks = isJsonObject(result) && questionsIn(result).length > 0;
            if (asks) {
              return broken(
                `The client declares nothing, but this arrived: ${formatValue(message)}`,
              );
            }
            // A tool that never requests input proves nothing.
            return askingTools.includes(String(params['name'])) ? held : untried;
          }),
        ),
      ),
  },
  {
    id: 'retry-answered',
    title: 'A retry with the answers is accepted.',
    demanded: always(
      'MUST',
      'basic',
      'Statelessness',
      'Servers MUST NOT rely on prior requests over the same connection',
    ),
    needs: needsAsking,
    judge: ({ polite }) =>
      firstBroken(
        polite.of('retry').map(({ id }) => {
          const [answer] = polite.answersTo(id);
          const end = polite.happenings.findIndex(({ kind }) => kind === 'input-ended');
          // A server that is shutting down may refuse it.
          if (!answer || (end !== -1 && end < answer.at)) return untried;
          const { message } = answer;
          return 'error' in message
            ? broken(`The retry was rejected: ${formatValue(message)}`)
            : held;
        }),
      ),
  },
  {
    id: 'state-verified',
    title: 'A forged request state is rejected.',
    // A server may omit this if forging causes nothing worse than a failure.
    demanded: always(
      'advice',
      rounds,
      'Server Requirements (Basic Workflow)',
      'servers MUST protect its integrity (e.g. HMAC or AEAD) and MUST reject state that fails verification.',
    ),
    needs: needsAsking,
    judge: ({ whole }) =>
      firstBroken(
        whole.of('retry-forged').flatMap(({ id }) =>
          whole.answersTo(id).map(({ message }) => {
            const { result } = message;
            const isRefused = !isJsonObject(result) || result['isError'] === true;
            return isRefused ? held : broken(`It was accepted: ${formatValue(message)}`);
          }),
        ),
      ),
  },
  {
    id: 'acknowledged-first',
    title: 'A subscription begins with its acknowledgement.',
    demanded: always(
      'MUST',
      subscriptions,
      'Acknowledgment',
      'The server MUST send notifications/subscriptions/acknowledged as the first message carrying the subscription’s ID in _meta',
    ),
    needs: 'a server that offers subscriptions/listen',
    judge: ({ polite }) =>
      firstBroken(
        polite.of('listen').map(({ id }) => {
          const [first] = polite.serverMessages.filter(
            (each) => subscriptionOf(each) === idKey(id),
          );
          if (!first) return untried;
          return first.message['method'] === 'notifications/subscriptions/acknowledged'
            ? held
            : broken(`This arrived first: ${formatValue(first.message)}`);
        }),
      ),
  },
  {
    id: 'unlistened-silent',
    title: 'Nothing arrives for a subscription after its cancellation.',
    demanded: always(
      'MUST',
      stdio,
      'Cancellation',
      'Servers SHOULD stop work on a cancelled request as soon as practical and MUST NOT send any further messages for it.',
    ),
    needs: 'a server that offers subscriptions/listen',
    judge: ({ polite }) =>
      firstBroken(
        polite.of('listen').map((asked) => {
          const at = polite.cancelled.get(idKey(asked.id));
          if (at === undefined || !polite.waitedBetween(at, polite.happenings.length)) {
            return untried;
          }
          const late = polite.serverMessages.find(
            (each) =>
              (subscriptionOf(each) === idKey(asked.id) || each.message['id'] === asked.id) &&
              polite.waitedBetween(at, each.at),
          );
          return late ? broken(`This arrived later: ${formatValue(late.message)}`) : held;
        }),
      ),
  },
  {
    id: 'cache-hints',
    title: 'Results of discovery and lists have cache hints.',
    demanded: always(
      'MUST',
      'server/utilities/caching',
      'Cacheable Results',
      'Servers MUST include caching hints on results with resultType: "complete" returned by the following operations',
    ),
    needs: 'the result of a discovery or a list',
    judge: ({ polite }) =>
      ofResults(
        polite,
        ({ method }) => cacheable.has(method),
        ({ resultType, ttlMs, cacheScope }) => {
          if (resultType === 'input_required') return undefined;
          if (typeof ttlMs !== 'number' || ttlMs < 0) return `ttlMs is ${formatValue(ttlMs)}`;
          const isScope = cacheScope === 'public' || cacheScope === 'private';
          return isScope ? undefined : `cacheScope is ${formatValue(cacheScope)}`;
        },
      ),
  },
  refuses({
    id: 'no-resource',
    title: 'A nonexistent resource is rejected with -32602.',
    move: 'bad-resource',
    code: -32_602,
    page: 'server/resources',
    demand: 'MUST',
    quote:
      'If the requested resource does not exist, servers MUST return a JSON-RPC error with code -32602 (Invalid Params).',
    needs: 'a server that declares resources',
  }),
];

const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Methods allowed as input requests. */
const questions: ReadonlySet<unknown> = new Set([
  Method.rootsList,
  Method.createMessage,
  Method.elicit,
]);

const cacheable: ReadonlySet<string> = new Set([
  Method.discover,
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

const ofMethod =
  (wanted: string) =>
  ({ method }: TracedRequest): boolean =>
    method === wanted;

/** Judges the results of the selected requests. */
function ofResults(
  trace: Trace,
  concerns: (asked: TracedRequest) => boolean,
  faultOf: (result: JsonObject) => string | undefined,
): Judgement {
  return firstBroken(
    [...trace.clientRequests.values()].filter(concerns).flatMap((asked) =>
      trace.answersTo(asked.id).map(({ message }): Judgement => {
        const { result } = message;
        if (!isJsonObject(result)) return untried;
        const fault = faultOf(result);
        return fault === undefined
          ? held
          : broken(`${asked.method}: ${fault}: ${formatValue(message)}`);
      }),
    ),
  );
}

/** Results with input requests. */
function askingIn(
  trace: Trace,
): readonly { readonly asked: TracedRequest; readonly result: JsonObject }[] {
  return [...trace.clientRequests.values()].flatMap((asked) =>
    trace
      .answersTo(asked.id)
      .flatMap(({ message: { result } }) =>
        isJsonObject(result) && result['resultType'] === 'input_required'
          ? [{ asked, result }]
          : [],
      ),
  );
}

/** Methods of the input requests in a result. */
function questionsIn({ inputRequests }: JsonObject): readonly unknown[] {
  if (!isJsonObject(inputRequests)) return [];
  return Object.values(inputRequests).map((question) =>
    isJsonObject(question) ? question['method'] : question,
  );
}

/** Key of the subscription that a notification belongs to. */
function subscriptionOf({ message: { params } }: TracedMessage): string | undefined {
  const meta = isJsonObject(params) ? params['_meta'] : undefined;
  const id = isJsonObject(meta) ? meta[MetaKey.subscriptionId] : undefined;
  return id === undefined ? undefined : idKey(id);
}
