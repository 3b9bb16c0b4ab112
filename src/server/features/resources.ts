/**
 * Resources and resource templates: their lists, reading, and who has subscribed.
 *
 * @see MCP 2025-11-25, server/resources
 */
import { isThenable } from '../../actors/call.ts';
import type { Call } from '../../actors/call.ts';
import { describe } from '../../protocol/classify.ts';
import { ErrorCode, ProtocolError, invalidParams } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import type { Offer } from '../offer.ts';
import { isUri } from '../uri.ts';
import type { Feature, FeatureScope } from './feature.ts';
import { stringParam } from './invalid-params.ts';
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

  const find = (uri: string, dialect: Dialect): Target => {
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
    throw dialect.resourceNotFound(uri);
  };

  return {
    capabilities: { resources: { subscribe: true, listChanged: true } },
    handlers: {
      'resources/list': async (params, call) => {
        const { dialect } = call.scope.client;
        const page = await resourcePage(offer, params, pageSize, scope.contextOf(call));
        const { items, ...next } = page;
        return { resources: items.map((item) => dialect.resource(item)), ...next };
      },
      'resources/templates/list': (params, { scope: { client } }) => {
        const list = resourceTemplates.list();
        const { items, ...next } = pageOf('resources/templates/list', list, params, pageSize);
        const described = items.map((item) => client.dialect.template(item));
        return { resourceTemplates: described, ...next };
      },
      'resources/read': (params, call) => {
        const target = find(stringParam(params, 'uri'), call.scope.client.dialect);
        const output = target.read(call);
        if (!isThenable(output)) return resultOf(target, output, call);
        return Promise.resolve(output).then((late) => resultOf(target, late, call));
      },
      'resources/subscribe': (params, { scope: { client } }) => {
        const { uri } = find(stringParam(params, 'uri'), client.dialect);
        if (!subscribed.has(uri) && subscribed.size >= maxSubscriptions) {
          throw tooManySubscriptions(maxSubscriptions);
        }
        subscribed.add(uri);
        return {};
      },
      'resources/unsubscribe': (params, { scope: { client } }) => {
        const uri = stringParam(params, 'uri');
        // One that was subscribed to may be gone by now.
        if (!subscribed.delete(uri)) find(uri, client.dialect);
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
  const { dialect } = call.scope.client;
  if (output === undefined) throw dialect.resourceNotFound(target.uri);
  return { contents: readContents(output, target, dialect) };
}

function tooManySubscriptions(max: number): ProtocolError {
  const message = `The client has subscribed to ${max} resources, and may to no more: unsubscribe from some first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}
