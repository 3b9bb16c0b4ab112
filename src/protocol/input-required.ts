/**
 * Multi round-trip requests on the wire: what a server asks in a result, and how the client answers
 * in the retry.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { inspectValue, isJsonObject } from './classify.ts';
import { invalidParams } from './errors.ts';
import type { JsonObject } from './frames.ts';
import { Method } from './methods.ts';
import { validateRootsResult } from './roots.ts';

/** A question among `inputRequests`. */
export interface WireInputRequest {
  readonly key: string;
  readonly method: string;
  readonly params?: JsonObject | undefined;
}

/** The requests whose results may ask. */
export const mayRequireInput: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
]);

/** The result that ends a round. */
export function inputRequired(
  requests: readonly WireInputRequest[],
  requestState: string,
): JsonObject {
  const inputRequests = inputRequestsOf(requests);
  return { resultType: 'input_required', inputRequests, requestState };
}

/** Questions as `inputRequests`. */
export function inputRequestsOf(requests: readonly WireInputRequest[]): JsonObject {
  return Object.fromEntries(
    requests.map(({ key, method, params }) => [key, params ? { method, params } : { method }]),
  );
}

/** What a request brings along from an earlier round. */
export interface Retry {
  readonly requestState: string;
  readonly inputResponses: JsonObject;
}

/**
 * The client's answers, by the keys of what it was asked; undefined if it brings none.
 *
 * @throws {ProtocolError} -32602 they are not an object
 */
export function readInputResponses(params: JsonObject | undefined): JsonObject | undefined {
  const answers = params?.['inputResponses'];
  if (answers === undefined || isJsonObject(answers)) return answers;
  throw invalidParams(`"inputResponses" must be an object, this is ${inspectValue(answers)}`);
}

/**
 * Reads what makes a request a retry; undefined for any other request.
 *
 * @throws {ProtocolError} -32602
 */
export function readRetry(params: JsonObject | undefined): Retry | undefined {
  const inputResponses = readInputResponses(params) ?? {};
  const requestState = params?.['requestState'];
  if (requestState === undefined) return undefined;
  if (typeof requestState === 'string') return { requestState, inputResponses };
  throw invalidParams(`"requestState" must be a string, this is ${inspectValue(requestState)}`);
}

/**
 * Whether a request brings something along from an earlier round. What it is answered with depends
 * on that, and must not be cached.
 *
 * @see MCP 2026-07-28, server/utilities/caching, "Cache Key"
 */
export function isRetry(params: JsonObject | undefined): boolean {
  return params?.['requestState'] !== undefined || params?.['inputResponses'] !== undefined;
}

const perRoundMembers: ReadonlySet<string> = new Set(['_meta', 'requestState', 'inputResponses']);

/** What all rounds of a call have in common: its method, and its params but for those of one round. */
export function roundParams(call: {
  readonly method: string;
  readonly params: JsonObject | undefined;
}): readonly [method: string, params: JsonObject] {
  const entries = Object.entries(call.params ?? {});
  return [call.method, Object.fromEntries(entries.filter(([name]) => !perRoundMembers.has(name)))];
}

const actions: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

/** What is wrong with the shape of an answer to a request of this method; undefined if nothing is. */
export function validateAnswer(method: string, answer: unknown): string | undefined {
  if (!isJsonObject(answer)) return `must be an object, this is ${inspectValue(answer)}`;
  switch (method) {
    case Method.elicit: {
      const { action, content } = answer;
      if (!actions.has(action)) {
        return `must have an "action" of accept, decline, cancel; this is ${inspectValue(action)}`;
      }
      // A person who does not accept gives no content, in whatever form.
      return action !== 'accept' || content === undefined || isJsonObject(content)
        ? undefined
        : `must have an object as its "content", this is ${inspectValue(content)}`;
    }
    case Method.createMessage: {
      const { role, model, content } = answer;
      if (role !== 'user' && role !== 'assistant') {
        return `must have the "role" user or assistant, this is ${inspectValue(role)}`;
      }
      if (typeof model !== 'string')
        return `must have a string "model", this is ${inspectValue(model)}`;
      return Array.isArray(content) || isJsonObject(content)
        ? undefined
        : `must have "content", this is ${inspectValue(content)}`;
    }
    case Method.rootsList: {
      const fault = validateRootsResult(answer);
      return fault === undefined ? undefined : `is malformed: ${fault}`;
    }
    default:
      return undefined;
  }
}
