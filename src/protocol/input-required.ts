/**
 * Multi round-trip requests on the wire: `input_required` results and the retries that answer them.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { invalidParams } from './errors.ts';
import type { JsonObject } from './frames.ts';
import { Method } from './methods.ts';
import { validateRootsResult } from './roots.ts';

/** One of the `inputRequests` of a result. */
export interface WireInputRequest {
  readonly key: string;
  readonly method: string;
  readonly params?: JsonObject | undefined;
}

/** Methods whose results may be `input_required`. */
export const mayRequireInput: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
]);

/** The `input_required` result that ends a round. */
export function inputRequired(
  requests: readonly WireInputRequest[],
  requestState: string,
): JsonObject {
  const inputRequests = inputRequestsOf(requests);
  return { resultType: 'input_required', inputRequests, requestState };
}

/** Encodes requests as `inputRequests`. */
export function inputRequestsOf(requests: readonly WireInputRequest[]): JsonObject {
  return Object.fromEntries(
    requests.map(({ key, method, params }) => [key, params ? { method, params } : { method }]),
  );
}

/** The members that make a request a retry. */
export interface Retry {
  readonly requestState: string;
  readonly inputResponses: JsonObject;
}

/**
 * The client's answers by key; undefined if the params have none.
 *
 * @throws {ProtocolError} -32602 they are not an object
 */
export function readInputResponses(params: JsonObject | undefined): JsonObject | undefined {
  const answers = params?.['inputResponses'];
  if (answers === undefined || isJsonObject(answers)) return answers;
  throw invalidParams(`"inputResponses" must be an object, got ${inspectValue(answers)}`);
}

/**
 * Reads the retry members; undefined for any other request.
 *
 * @throws {ProtocolError} -32602
 */
export function readRetry(params: JsonObject | undefined): Retry | undefined {
  const inputResponses = readInputResponses(params) ?? {};
  const requestState = params?.['requestState'];
  if (requestState === undefined) return undefined;
  if (typeof requestState === 'string') return { requestState, inputResponses };
  throw invalidParams(`"requestState" must be a string, got ${inspectValue(requestState)}`);
}

/**
 * True for a retry. Its result depends on the retry members and must not be cached.
 *
 * @see MCP 2026-07-28, server/utilities/caching, "Cache Key"
 */
export function isRetry(params: JsonObject | undefined): boolean {
  return params?.['requestState'] !== undefined || params?.['inputResponses'] !== undefined;
}

const perRoundMembers: ReadonlySet<string> = new Set(['_meta', 'requestState', 'inputResponses']);

/** The request without the members of a single round: equal in all rounds of a call. */
export function roundParams(call: {
  readonly method: string;
  readonly params: JsonObject | undefined;
}): readonly [method: string, params: JsonObject] {
  const entries = Object.entries(call.params ?? {});
  return [call.method, Object.fromEntries(entries.filter(([name]) => !perRoundMembers.has(name)))];
}

const actions: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

/** Validates the shape of an answer to this method. Returns the problem, if any. */
export function validateAnswer(method: string, answer: unknown): string | undefined {
  if (!isJsonObject(answer)) return `must be an object, got ${inspectValue(answer)}`;
  switch (method) {
    case Method.elicit: {
      const { action, content } = answer;
      if (!actions.has(action)) {
        return `must have "action" accept, decline or cancel, got ${inspectValue(action)}`;
      }
      // Without acceptance there is no content, in whatever form.
      return action !== 'accept' || content === undefined || isJsonObject(content)
        ? undefined
        : `must have an object as "content", got ${inspectValue(content)}`;
    }
    case Method.createMessage: {
      const { role, model, content } = answer;
      if (role !== 'user' && role !== 'assistant') {
        return `must have "role" user or assistant, got ${inspectValue(role)}`;
      }
      if (typeof model !== 'string')
        return `must have a string as "model", got ${inspectValue(model)}`;
      return Array.isArray(content) || isJsonObject(content)
        ? undefined
        : `must have an object or array as "content", got ${inspectValue(content)}`;
    }
    case Method.rootsList: {
      const fault = validateRootsResult(answer);
      return fault === undefined ? undefined : `is malformed: ${fault}`;
    }
    default:
      return undefined;
  }
}
