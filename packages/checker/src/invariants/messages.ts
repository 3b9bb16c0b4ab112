/** Invariants on the form of the server's messages. */
import type { JsonObject } from 'mcp-actors';
import { isJsonObject } from 'mcp-actors/internal';
import { hasBatches } from '../outgoing.ts';
import { idKey, isMessageId } from '../message.ts';
import {
  always,
  broken,
  firstBroken,
  held,
  messagesPage,
  formatValue,
  untried,
} from './invariant.ts';
import type { Invariant } from './invariant.ts';

export const messageInvariants: readonly Invariant[] = [
  {
    id: 'stdout',
    title: 'The output contains only messages.',
    demanded: always(
      'MUST',
      'basic/transports',
      'stdio',
      'The server MUST NOT write anything to its stdout that is not a valid MCP message.',
    ),
    needs: 'a server that writes output',
    judge: ({ whole, revision }) => {
      const lines = whole.happenings.filter((one) => one.kind === 'received');
      return firstBroken(
        lines.map(({ text, value }) => {
          const fault = messageFault(value, revision);
          return fault === undefined ? held : broken(`${fault}: ${formatValue(text)}`);
        }),
      );
    },
  },
  {
    id: 'responses',
    title:
      'A response has either a result or an error; an error has an integer code and a message.',
    demanded: (revision) =>
      messagesPage(
        'MUST',
        'Responses',
        revision < '2025-11-25'
          ? 'Either a `result` or an `error` MUST be set. A response MUST NOT set both. Error codes MUST be integers.'
          : 'Error responses MUST include an `error` field with a `code` and `message`. Error codes MUST be integers.',
      )(revision),
    needs: 'a response',
    judge: ({ whole }) =>
      firstBroken(
        whole.responses.map(({ message }) => {
          const fault = responseFault(message);
          return fault === undefined ? held : broken(`${fault}: ${formatValue(message)}`);
        }),
      ),
  },
  {
    id: 'request-ids',
    title: 'Requests of the server have a string or an integer as id.',
    demanded: messagesPage(
      'MUST',
      'Requests',
      'Requests MUST include a string or integer ID. Unlike base JSON-RPC, the ID MUST NOT be null.',
    ),
    needs: 'a server that sends requests',
    judge: ({ whole }) =>
      firstBroken(
        whole.requests.map(({ message }) =>
          isMessageId(message['id'])
            ? held
            : broken(`The id is ${formatValue(message['id'])}: ${formatValue(message)}`),
        ),
      ),
  },
  {
    id: 'ids-not-reused',
    title: 'The server never reuses a request id.',
    demanded: messagesPage(
      'MUST',
      'Requests',
      'The request ID MUST NOT have been previously used by the requestor within the same session.',
    ),
    needs: 'a server that sends two requests',
    judge: ({ whole: { requests } }) => {
      if (requests.length < 2) return untried;
      const seen = new Set<string>();
      for (const { message } of requests) {
        const key = idKey(message['id']);
        if (seen.has(key)) return broken(`The id ${key} was repeated: ${formatValue(message)}`);
        seen.add(key);
      }
      return held;
    },
  },
];

/**
 * Explains why a value is not a message; undefined if it is. The content of responses is judged by
 * other invariants.
 */
export function messageFault(value: unknown, revision: string): string | undefined {
  if (value === undefined) return 'Line is not JSON';
  if (Array.isArray(value)) {
    if (!hasBatches(revision)) return `Revision ${revision} has no batches`;
    return value.length === 0 ? 'Batch is empty' : firstFault(value as unknown[]);
  }
  return singleFault(value);
}

function firstFault(values: readonly unknown[]): string | undefined {
  return values.map(singleFault).find((fault) => fault !== undefined);
}

function singleFault(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'Line must be a JSON object';
  const { jsonrpc, method, params } = value;
  if (jsonrpc !== '2.0') return '"jsonrpc" must be "2.0"';
  if (method === undefined) {
    return 'result' in value || 'error' in value
      ? undefined
      : 'Message must have a method, result or error';
  }
  if (typeof method !== 'string') return '"method" must be a string';
  return params === undefined || isJsonObject(params) ? undefined : '"params" must be an object';
}

function responseFault(message: JsonObject): string | undefined {
  const { result, error } = message;
  if (result !== undefined && error !== undefined)
    return 'Response must not have both a result and an error';
  if (error === undefined) return isJsonObject(result) ? undefined : 'Result must be an object';
  if (!isJsonObject(error)) return 'Error must be an object';
  if (!Number.isInteger(error['code'])) return 'Error code must be an integer';
  return typeof error['message'] === 'string' ? undefined : 'Error must have a message';
}
