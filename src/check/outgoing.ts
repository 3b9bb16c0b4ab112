/** The messages that the client of a play sends. */
import { negotiateDialect } from '../protocol/dialects/registry.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import type { ClientFeatures } from './client.machine.ts';

/** A revision that there never was. */
export const unknownRevision = '1999-01-01';

/** What roots of a play are called, before their number. */
export const rootName = 'check-root-';

/** What an answer names that comes after the server has cancelled its request: where this is met again, the answer was used. */
export const lateMark = 'check-late-answer';

/** How many folders there are for roots; a list of a later number begins again. */
export const rootFolders = 16;

export function request(id: RequestId, method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, method, ...(params ? { params } : {}) };
}

export function notification(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', method, ...(params ? { params } : {}) };
}

/** Whether a client of this revision may send batches. */
export function hasBatches(revision: string): boolean {
  return negotiateDialect(revision).batchRefusal(1, 1) === undefined;
}

export function initializeParams(revision: string, declares: 'all' | 'nothing'): JsonObject {
  const elicitation = { elicitation: {} };
  const lacking = negotiateDialect(revision).lacking(Method.elicit, undefined, elicitation);
  return {
    protocolVersion: revision,
    capabilities:
      declares === 'all'
        ? {
            roots: { listChanged: true },
            sampling: {},
            ...(lacking === undefined ? elicitation : {}),
          }
        : {},
    clientInfo: { name: 'mcp-actors-check', version: '1.0.0' },
  };
}

/**
 * What a client that has declared it answers; undefined for what it has not.
 * @param root the URI of its root
 * @param text what its model says
 */
export function answerTo(
  method: unknown,
  offered: JsonObject,
  root: string,
  text: string,
): JsonObject | undefined {
  if (method === 'roots/list' && offered['roots']) {
    return { roots: [{ uri: root, name: root.slice(root.lastIndexOf('/') + 1) }] };
  }
  if (method === 'sampling/createMessage' && offered['sampling']) {
    return {
      role: 'assistant',
      content: { type: 'text', text },
      model: 'check',
      stopReason: 'endTurn',
    };
  }
  if (method === 'elicitation/create' && offered['elicitation']) return { action: 'decline' };
  return undefined;
}

/** The list requests for what a server declares, pings aside the only requests that every client sends. */
export function listMethods({
  tools,
  resources,
  prompts,
}: Omit<ClientFeatures['declares'], 'logging'>): string[] {
  return [
    ...(tools ? ['tools/list'] : []),
    ...(resources ? ['resources/list', 'resources/templates/list'] : []),
    ...(prompts ? ['prompts/list'] : []),
  ];
}
