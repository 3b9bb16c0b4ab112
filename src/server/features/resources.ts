/**
 * Resources and resource templates: their lists, reading, and who has subscribed.
 *
 * @see MCP 2025-11-25, server/resources
 */
import { isThenable } from '../../actors/call.ts';
import type { Call } from '../../actors/call.ts';
import { describe } from '../../protocol/classify.ts';
import { ErrorCode, ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import type { Offer } from '../offer.ts';
import type { ResourceDescription, ResourceTemplate } from '../resource.ts';
import { isUri } from '../uri.ts';
import { annotationsFor, describedBy } from './described-item.ts';
import type { Feature, FeatureScope } from './feature.ts';
import { invalidParams, stringParam } from './invalid-params.ts';
import { tellChanges } from './list-changed.observable.ts';
import { pageOf } from './pagination.ts';
import { resourcePage } from './resource-list.ts';
import { readContents } from './resource-output.ts';

export interface ResourcesFeature extends Feature {
  /** Tells the client that a resource has changed, if it has subscribed to it. */
  updated(uri: string): void;
}

/** A resource that is there, fixed or by a template. */
interface Target {
  readonly uri: string;
  readonly mimeType: string | undefined;
  read(call: Call): unknown;
}

/** The resources of a server, for one session. */
export function resourcesFeature(offer: Offer, scope: FeatureScope): ResourcesFeature {
  const { resources, resourceTemplates } = offer;
  const { pageSize, maxSubscriptions, listChangedQuietMs } = scope.limits;
  const subscribed = new Set<string>();

  const find = (uri: string): Target => {
    const resource = resources.get(uri);
    if (resource) {
      const { mimeType } = resource;
      return { uri, mimeType, read: (call) => resource.read(scope.contextOf(call)) };
    }
    if (!isUri(uri)) throw invalidParams(`"uri" must be a URI, this is ${describe(uri)}`);
    for (const { item } of resourceTemplates.list()) {
      const variables = item.match(uri);
      if (!variables) continue;
      const { mimeType } = item;
      return {
        uri,
        mimeType,
        // The template's own variables, as their type says.
        read: (call) => item.read(uri, variables as never, scope.contextOf(call)),
      };
    }
    throw notFound(uri);
  };

  return {
    capabilities: { resources: { subscribe: true, listChanged: true } },
    handlers: {
      'resources/list': async (params, call) => {
        const { revision } = call.scope.client;
        const page = await resourcePage(offer, params, pageSize, scope.contextOf(call));
        const { items, ...next } = page;
        return { resources: items.map((item) => describeResource(item, revision)), ...next };
      },
      'resources/templates/list': (params, { scope: { client } }) => {
        const list = resourceTemplates.list();
        const { items, ...next } = pageOf('resources/templates/list', list, params, pageSize);
        const described = items.map((item) => describeTemplate(item, client.revision));
        return { resourceTemplates: described, ...next };
      },
      'resources/read': (params, call) => {
        const target = find(stringParam(params, 'uri'));
        const output = target.read(call);
        if (!isThenable(output)) return resultOf(target, output, call);
        return Promise.resolve(output).then((late) => resultOf(target, late, call));
      },
      'resources/subscribe': (params) => {
        const { uri } = find(stringParam(params, 'uri'));
        if (!subscribed.has(uri) && subscribed.size >= maxSubscriptions) {
          throw tooManySubscriptions(maxSubscriptions);
        }
        subscribed.add(uri);
        return {};
      },
      'resources/unsubscribe': (params) => {
        const uri = stringParam(params, 'uri');
        // One that was subscribed to may be gone by now.
        if (!subscribed.delete(uri)) find(uri);
        return {};
      },
    },
    updated: (uri) => {
      if (subscribed.has(uri)) scope.notify(Method.resourceUpdated, { uri });
    },
    start: () =>
      tellChanges([resources, resourceTemplates], {
        clock: scope.clock,
        quietMs: listChangedQuietMs,
        whenOperating: scope.whenOperating,
        tell: () => scope.notify('notifications/resources/list_changed'),
      }),
  };
}

function resultOf(target: Target, output: unknown, call: Call): JsonObject {
  if (output === undefined) throw notFound(target.uri);
  return { contents: readContents(output, target, call.scope.client.revision) };
}

/** @see MCP 2025-11-25, server/resources, "Error Handling" */
function notFound(uri: string): ProtocolError {
  const message = `Resource not found: ${describe(uri)}`;
  return new ProtocolError(ErrorCode.resourceNotFound, message, { uri });
}

function tooManySubscriptions(max: number): ProtocolError {
  const message = `The client has subscribed to ${max} resources, and may to no more: unsubscribe from some first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

function describeResource(resource: ResourceDescription, revision: Revision): JsonObject {
  const { uri, name, mimeType, size, annotations } = resource;
  return {
    uri,
    name,
    ...describedBy(resource, revision),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(size === undefined ? {} : { size }),
    ...(annotations ? { annotations: annotationsFor(annotations, revision) } : {}),
  };
}

function describeTemplate(template: ResourceTemplate, revision: Revision): JsonObject {
  const { uriTemplate, name, mimeType, annotations } = template;
  return {
    uriTemplate,
    name,
    ...describedBy(template, revision),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations ? { annotations: annotationsFor(annotations, revision) } : {}),
  };
}
