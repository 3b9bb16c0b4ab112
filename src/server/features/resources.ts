/**
 * Resources and resource templates: listing, reading, subscribing.
 *
 * @see MCP 2025-11-25, server/resources
 */
import { isThenable } from '../../actors/request-context.ts';
import type { RequestContext } from '../../actors/request-context.ts';
import type { Reservation } from '../../actors/memory-budget.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { ErrorCode, ProtocolError, invalidParams } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { isRetry } from '../../protocol/input-required.ts';
import { Method } from '../../protocol/methods.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';
import { latestHandshake } from '../../protocol/dialects/registry.ts';
import type { ServerCatalog } from './registry.ts';
import type { ItemAsker, CallerView } from './visibility.ts';
import { hintsOf, uncached } from '../define/caching.ts';
import { isUri } from '../define/uri-template.ts';
import { PerSession, contextOf, scopeOfCall } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { Feature, InForce } from './feature.ts';
import { stringParam } from './feature.ts';
import { firstPage, pageOf, readTextCursor } from './pagination.ts';
import { readSkillFile } from './skills.ts';
import { readContents } from './output.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { ResourceDescription, ResourceTemplate } from '../define/resource.ts';
import { describeFile, fileIn } from '../define/skill.ts';
import { skillFileName } from '../../protocol/skills.ts';
import type { Page } from './pagination.ts';

export interface ResourcesFeature extends Feature {
  /**
   * Notifies a session's client that a resource has changed, if the client has subscribed to it.
   */
  updated(session: SessionScope, uri: string): void;
  /** The URIs that a session's client has subscribed to. */
  subscribedBy(session: SessionScope): readonly string[];
}

/** A resource that a URI names: a fixed one, or one of a template. */
interface ReadableResource {
  readonly uri: string;
  readonly mimeType: string | undefined;
  readonly caching: CacheHints;
  read(call: RequestContext): unknown;
}

/** The resources of a server. */
export function resourcesFeature(catalog: ServerCatalog, inForce: InForce): ResourcesFeature {
  const { resources, resourceTemplates, skills } = catalog;
  const { visibility } = resources;
  /** The URIs that each session's client has subscribed to. */
  const subscriptions = new PerSession((session) => new SubscribedUris(session));

  const find = (
    uri: string,
    call: RequestContext,
  ): ReadableResource | Promise<ReadableResource> => {
    const asker = call.request;
    const resource = resources.seenBy(asker).get(uri);
    if (resource) {
      const { mimeType } = resource;
      const caching = resources.cachedAs(hintsOf(resource.caching, inForce.caching.contents));
      return { uri, mimeType, caching, read: (call) => resource.read(contextOf(call)) };
    }
    if (!skills.mayHave(uri)) return findByTemplate(uri, asker);
    return skills.fileFor(uri, call).then((found) => {
      if (!found) return findByTemplate(uri, asker);
      const { mimeType } = describeFile(found.skill, found.path);
      const caching = skills.cachedAs(inForce.caching.contents);
      return { uri, mimeType, caching, read: (reader) => readSkillFile(found, contextOf(reader)) };
    });
  };

  const findByTemplate = (uri: string, asker: ItemAsker): ReadableResource => {
    if (!isUri(uri)) throw invalidParams(`"uri" must be a URI, this is ${inspectValue(uri)}`);
    for (const { item } of resourceTemplates.seenBy(asker).list()) {
      const variables = item.match(uri);
      if (!variables) continue;
      const { mimeType } = item;
      return {
        uri,
        mimeType,
        caching: resourceTemplates.cachedAs(hintsOf(item.caching, inForce.caching.contents)),
        // The URI has matched the template, so these are the variables of its type.
        read: (call) => item.read(uri, variables as never, contextOf(call)),
      };
    }
    throw asker.peer.dialect.resourceNotFound(uri);
  };

  const subscribe =
    (call: RequestContext) =>
    ({ uri }: ReadableResource): JsonObject => {
      subscriptions.of(scopeOfCall(call)).add(uri);
      const isForSome = [resources, resourceTemplates, skills].some((items) => items.isForSome);
      if (isForSome) visibility.shown(call.request);
      return {};
    };

  return {
    capabilities: { resources: { subscribe: true, listChanged: true } },
    handlers: {
      'resources/list': async (params, call) => {
        const { dialect } = call.request.peer;
        const { pageSize } = scopeOfCall(call).limits;
        const page = await resourcePage(catalog, params, pageSize, call);
        const { items, ...next } = page;
        const described = items.map((item) => dialect.resource(item));
        // What templates list is in it, too, and of each skill a file.
        const sources = [resources, resourceTemplates, skills];
        const caching = sources.reduce<CacheHints>(
          (hints, items) => items.cachedAs(hints),
          inForce.caching.resources,
        );
        return dialect.cacheable({ resources: described, ...next }, caching);
      },
      'resources/templates/list': (params, call) => {
        const { dialect } = call.request.peer;
        const { pageSize } = scopeOfCall(call).limits;
        const list = resourceTemplates.listedTo(call.request);
        const { items, ...next } = pageOf('resources/templates/list', list, params, pageSize);
        const described = items.map((item) => dialect.template(item));
        const result = { resourceTemplates: described, ...next };
        const caching = resourceTemplates.cachedAs(inForce.caching.resourceTemplates);
        return dialect.cacheable(result, caching);
      },
      'resources/read': (params, call) => {
        const target = find(stringParam(params, 'uri'), call);
        if (!isThenable(target)) return readTarget(target, call);
        return target.then((found) => readTarget(found, call));
      },
      'resources/subscribe': (params, call) => {
        const target = find(stringParam(params, 'uri'), call);
        return isThenable(target) ? target.then(subscribe(call)) : subscribe(call)(target);
      },
      'resources/unsubscribe': (params, call) => {
        const uri = stringParam(params, 'uri');
        // The resource may have gone since the client subscribed to it.
        const isSubscribed = subscriptions.known(scopeOfCall(call))?.delete(uri);
        const target = isSubscribed ? undefined : find(uri, call);
        return isThenable(target) ? target.then(() => ({})) : {};
      },
    },
    list: {
      capability: 'resources',
      sources: [resources, resourceTemplates, skills],
      changed: 'notifications/resources/list_changed',
      shown: () => [
        ...resources.list().map(({ item }) => latestHandshake.resource(item)),
        ...resourceTemplates.list().map(({ item }) => latestHandshake.template(item)),
        ...skills
          .list()
          .map(({ item }) => latestHandshake.resource(describeFile(item, skillFileName))),
      ],
    },
    subscribedBy: (session) => subscriptions.known(session)?.all ?? [],
    updated: (session, uri) => {
      const isAnnounced = subscriptions.known(session)?.has(uri);
      const eyes = isAnnounced ? visibility.eyesIn(session) : undefined;
      if (isAnnounced && (!eyes || isResourceSeen(uri, catalog, eyes))) {
        session.notify(Method.resourceUpdated, { uri });
      }
    },
  };
}

/** Whether somebody sees the resource with this URI. One that is no more is seen by all: its end is news. */
export function isResourceSeen(
  uri: string,
  { resources, resourceTemplates, skills }: ServerCatalog,
  eyes: CallerView,
): boolean {
  const resource = resources.get(uri);
  const templates = resourceTemplates.list().filter(({ item }) => item.match(uri) !== undefined);
  const having = skills.list().filter(({ item }) => fileIn([item], uri) !== undefined);
  if (!resource && templates.length === 0 && having.length === 0) return true;
  if (resource && eyes.sees(resource, uri)) return true;
  if (having.some(({ item }) => eyes.sees(item, item.uri))) return true;
  return templates.some(({ item }) => eyes.sees(item, item.uriTemplate));
}

/** What the client of a session has subscribed to, within its bounds. */
class SubscribedUris {
  readonly #uris = new Set<string>();
  readonly #limits: SessionScope['limits'];
  readonly #retained: Reservation | undefined;
  #length = 0;

  constructor(session: SessionScope) {
    this.#limits = session.limits;
    this.#retained = session.quotas.reserve(undefined, 0, Infinity);
    session.atEnd(() => this.#retained?.release());
  }

  get all(): readonly string[] {
    return [...this.#uris];
  }

  has(uri: string): boolean {
    return this.#uris.has(uri);
  }

  /** @throws {ProtocolError} -32000: there are too many, or they are too long */
  add(uri: string): void {
    if (this.#uris.has(uri)) return;
    const { maxSubscriptions, maxRetainedBytes } = this.#limits;
    if (this.#uris.size >= maxSubscriptions) {
      throw tooManySubscriptions(`has subscribed to ${maxSubscriptions} resources`);
    }
    if (!this.#retained?.resize(this.#length + uri.length, maxRetainedBytes)) {
      throw tooManySubscriptions(`has kept here what comes to ${maxRetainedBytes} bytes`);
    }
    this.#length += uri.length;
    this.#uris.add(uri);
  }

  delete(uri: string): boolean {
    if (!this.#uris.delete(uri)) return false;
    this.#length -= uri.length;
    this.#retained?.resize(this.#length, Infinity);
    return true;
  }
}

function readTarget(
  target: ReadableResource,
  call: RequestContext,
): JsonObject | Promise<JsonObject> {
  const output = target.read(call);
  if (!isThenable(output)) return resultOf(target, output, call);
  return Promise.resolve(output).then((late) => resultOf(target, late, call));
}

function resultOf(target: ReadableResource, output: unknown, call: RequestContext): JsonObject {
  const { dialect } = call.request.peer;
  if (output === undefined) throw dialect.resourceNotFound(target.uri);
  const caching = isRetry(call.request.params) ? uncached : target.caching;
  return dialect.cacheable({ contents: readContents(output, target, dialect) }, caching);
}

function tooManySubscriptions(what: string): ProtocolError {
  const message = `The client ${what}, and may subscribe to no more: unsubscribe from some first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

const listKind = 'resources/list';

/** Marks the cursors of the second part, which name a URI. */
const listedKind = 'resources/list/listed';

/**
 * Gives one page of all resources: the fixed ones by their places, then those that templates list,
 * by URI. A template lists its resources anew for each page, so they have no lasting places. Ordered
 * by URI, a cursor that names the last one stays valid, whatever comes and goes.
 *
 * @see MCP 2025-11-25, server/resources, "Listing Resources"
 */
async function resourcePage(
  { resources, resourceTemplates, skills }: ServerCatalog,
  params: JsonObject | undefined,
  pageSize: number,
  call: RequestContext,
): Promise<Page<ResourceDescription>> {
  const context = contextOf(call);
  const fixed = resources.listedTo(call.request);
  const templates = resourceTemplates.listedTo(call.request).map(({ item }) => item);
  const listing = templates.filter(({ list }) => list !== undefined);
  const listedAfter = async (uri: string) => {
    skills.listedTo(call.request);
    const seen = await skills.seenIn(call);
    const files = seen.map((skill) => describeFile(skill, skillFileName));
    const listed = await listedBy(files, listing, context);
    const known = new Set(fixed.map(({ item }) => item.uri));
    return listed.filter((resource) => resource.uri > uri && !known.has(resource.uri));
  };

  const after = readTextCursor(listedKind, params?.['cursor'] ?? undefined);
  if (after !== undefined) return firstPage(listedKind, await listedAfter(after), pageSize);

  const page = pageOf(listKind, fixed, params, pageSize);
  if (page.nextCursor !== undefined || (listing.length === 0 && !skills.has)) return page;
  const room = pageSize - page.items.length;
  const { items, nextCursor } = firstPage(listedKind, await listedAfter(''), room);
  return {
    items: [...page.items, ...items],
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}

/** By URI, each once. If two templates list the same resource, the first one describes it. */
async function listedBy(
  files: readonly ResourceDescription[],
  templates: readonly ResourceTemplate[],
  context: HandlerContext,
): Promise<readonly ResourceDescription[]> {
  const lists = await Promise.all(templates.map(async (template) => readList(template, context)));
  const byUri = new Map<string, ResourceDescription>();
  for (const resource of [files, ...lists].flat()) {
    if (!byUri.has(resource.uri)) byUri.set(resource.uri, resource);
  }
  return [...byUri.values()].sort((one, other) => (one.uri < other.uri ? -1 : 1));
}

async function readList(
  template: ResourceTemplate,
  context: HandlerContext,
): Promise<readonly ResourceDescription[]> {
  const listed: unknown = await template.list?.(context);
  const what = `the list of the template ${inspectValue(template.uriTemplate)}`;
  if (!Array.isArray(listed)) {
    throw new TypeError(`${what} must be a list of resources, this is ${inspectValue(listed)}`);
  }
  const resources: readonly unknown[] = listed;
  return resources.map((resource, at) => {
    checkListed(resource, `resource ${at} in ${what}`);
    return resource;
  });
}

function checkListed(resource: unknown, what: string): asserts resource is ResourceDescription {
  for (const member of ['uri', 'name']) {
    const value = isJsonObject(resource) ? resource[member] : undefined;
    if (typeof value === 'string') continue;
    throw new TypeError(`${what} must have a string "${member}", this is ${inspectValue(value)}`);
  }
}
