/**
 * resources/list, read, subscribe and unsubscribe, and who has subscribed.
 *
 * @see MCP 2025-11-25, server/resources
 */
import { describe } from '../../protocol/classify.ts';
import { ErrorCode, ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import type { Offer } from '../offer.ts';
import type { ReadResult, Resource } from '../resource.ts';
import type { Feature, FeatureScope } from './feature.ts';
import { tellChanges } from './list-changed.observable.ts';
import { pageOf } from './pagination.ts';

export interface ResourcesFeature extends Feature {
  /** Tells the client that a resource has changed, if it has subscribed to it. */
  updated(uri: string): void;
}

/** The resources of a server, for one session. */
export function resourcesFeature(
  { resources }: Offer,
  scope: FeatureScope,
): ResourcesFeature {
  const subscribed = new Set<string>();

  const find = (params: JsonObject | undefined): Resource => {
    const uri = params?.['uri'];
    if (typeof uri !== 'string') {
      const message = `Invalid params: "uri" must be a string, this is ${describe(uri)}`;
      throw new ProtocolError(ErrorCode.invalidParams, message);
    }
    const resource = resources.get(uri);
    if (resource) return resource;
    const message = `Resource not found: ${describe(uri)}`;
    throw new ProtocolError(ErrorCode.resourceNotFound, message, { uri });
  };

  return {
    capabilities: { resources: { subscribe: true, listChanged: true } },
    handlers: {
      'resources/list': (params, { scope: { client } }) => {
        const page = pageOf('resources/list', resources.list(), params, scope.limits.pageSize);
        const { items, ...next } = page;
        const described = items.map((resource) => describeResource(resource, client.revision));
        return { resources: described, ...next };
      },
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/read': async (params, call) => {
        const resource = find(params);
        return { contents: contentsOf(resource, await resource.read(scope.contextOf(call))) };
      },
      'resources/subscribe': (params) => {
        subscribed.add(find(params).uri);
        return {};
      },
      'resources/unsubscribe': (params) => {
        subscribed.delete(find(params).uri);
        return {};
      },
    },
    updated: (uri) => {
      if (subscribed.has(uri)) scope.notify(Method.resourceUpdated, { uri });
    },
    stop: tellChanges([resources], {
      clock: scope.clock,
      quietMs: scope.limits.listChangedQuietMs,
      tell: () => scope.notify('notifications/resources/list_changed'),
    }),
  };
}

function describeResource(resource: Resource, revision: Revision): JsonObject {
  const { uri, name, title, description, mimeType } = resource;
  return {
    uri,
    name,
    ...(title !== undefined && revision.structuredOutput ? { title } : {}),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
  };
}

function contentsOf({ uri, mimeType }: Resource, read: ReadResult) {
  if (typeof read !== 'string') return read;
  return [{ uri, ...(mimeType === undefined ? {} : { mimeType }), text: read }];
}
