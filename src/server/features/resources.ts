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
import type { ReadResult, Resource } from '../definition.ts';
import type { Feature, FeatureScope } from './feature.ts';
import { refuseCursor } from './pagination.ts';

export interface ResourcesFeature extends Feature {
  /** Tells the client that a resource has changed, if it has subscribed to it. */
  updated(uri: string): void;
}

/** The resources of a server, for one session. */
export function resourcesFeature(
  resources: readonly Resource[],
  scope: FeatureScope,
): ResourcesFeature {
  const byUri = new Map(resources.map((resource) => [resource.uri, resource]));
  const subscribed = new Set<string>();

  const find = (params: JsonObject | undefined): Resource => {
    const uri = params?.['uri'];
    if (typeof uri !== 'string') {
      const message = `Invalid params: "uri" must be a string, this is ${describe(uri)}`;
      throw new ProtocolError(ErrorCode.invalidParams, message);
    }
    const resource = byUri.get(uri);
    if (resource) return resource;
    const message = `Resource not found: ${describe(uri)}`;
    throw new ProtocolError(ErrorCode.resourceNotFound, message, { uri });
  };

  return {
    capabilities: { resources: { subscribe: true } },
    handlers: {
      'resources/list': (params, { scope: { client } }) => {
        refuseCursor(params);
        return {
          resources: resources.map((resource) => describeResource(resource, client.revision)),
        };
      },
      'resources/templates/list': (params) => {
        refuseCursor(params);
        return { resourceTemplates: [] };
      },
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
