/** Messages sent by a play's client. */
import type { JsonObject, RequestId } from 'mcp-actors';
import { MetaKey } from 'mcp-actors/internal';
import type { ClientFeatures } from './client.machine.ts';

/** Supported revisions, newest first: those with a handshake, then those without. */
export const revisions: readonly string[] = [
  ...['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
  '2026-07-28',
];

/** A revision that never existed. */
export const unknownRevision = '1999-01-01';

export function outgoingRequest(id: RequestId, method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, method, ...(params ? { params } : {}) };
}

export function outgoingNotification(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: '2.0', method, ...(params ? { params } : {}) };
}

/** True if each request of this revision identifies its client. */
export function isStateless(revision: string): boolean {
  return revision === '2026-07-28';
}

/** Capabilities declared by the client of a stateless revision. */
export const statelessCapabilities: JsonObject = { roots: {}, sampling: {}, elicitation: {} };

const clientInfo = { name: 'mcp-actors-check', version: '1.0.0' };

/** Adds the client's description to a request; returns other messages unchanged. */
export function withEnvelope(message: JsonObject, revision: string): JsonObject {
  const { id, method, params = {} } = message as { params?: JsonObject } & JsonObject;
  if (id === undefined || typeof method !== 'string') return message;
  const _meta = {
    [MetaKey.protocolVersion]: revision,
    [MetaKey.clientCapabilities]: statelessCapabilities,
    [MetaKey.clientInfo]: clientInfo,
    ...(params['_meta'] as JsonObject | undefined),
  };
  return { ...message, params: { ...params, _meta } };
}

/** True if this revision has batches. */
export function hasBatches(revision: string): boolean {
  return revision === '2025-03-26' || revision === '2024-11-05';
}

export function initializeParams(revision: string, declares: 'all' | 'nothing'): JsonObject {
  const hasElicitation = revision >= '2025-06-18';
  return {
    protocolVersion: revision,
    capabilities:
      declares === 'all'
        ? {
            roots: { listChanged: true },
            sampling: {},
            ...(hasElicitation ? { elicitation: {} } : {}),
          }
        : {},
    clientInfo,
  };
}

/**
 * Builds the client's result; undefined if it has not declared the capability.
 * @param root URI of its root
 * @param text reply of its model
 */
export function outgoingAnswer(
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

/**
 * List requests for the declared capabilities: with pings, the only requests every client sends.
 */
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
