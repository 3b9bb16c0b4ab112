/**
 * Resources and resource templates: list, read, subscribe.
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
import type { ItemCaller, CallerView } from './visibility.ts';
import { hintsOf, uncached } from '../define/caching.ts';
import { isUri } from '../define/uri-template.ts';
import { PerSession, contextOf, scopeOfCall } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { Feature, CurrentSettings } from './feature.ts';
import { stringParam } from './feature.ts';
import { firstPage, pageOf, readTextCursor } from './pagination.ts';
import { readSkillFile } from './skills.ts';
import { readContents } from './output.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { ResourceDescription, ResourceTemplate } from '../define/resource.ts';
import { describeFile, findSkillFile } from '../define/skill.ts';
import { skillFileName } from '../../protocol/skills.ts';
import type { Page } from './pagination.ts';

export interface ResourcesFeature extends Feature {
  /** Notifies the client of a session if it subscribed to the resource. */
  updated(session: SessionScope, uri: string): void;
  /** URIs that the client of a session subscribed to. */
  subscribedBy(session: SessionScope): readonly string[];
}

/** Resource with a fixed URI or of a template. */
interface ReadableResource {
  readonly uri: string;
  readonly mimeType: string | undefined;
  readonly caching: CacheHints;
  read(call: RequestContext): unknown;
}

/** Creates the resources feature. */
export function resourcesFeature(
  catalog: ServerCatalog,
  settings: CurrentSettings,
): ResourcesFeature {
  const { resources, resourceTemplates, skills } = catalog;
  const { visibility } = resources;
  /** Subscribed URIs by session. */
  const subscriptions = new PerSession((session) => new SubscribedUris(session));

  const find = (
    uri: string,
    call: RequestContext,
  ): ReadableResource | Promise<ReadableResource> => {
    const caller = call.request;
    const resource = resources.visibleTo(caller).get(uri);
    if (resource) {
      const { mimeType } = resource;
      const caching = resources.cacheHintsFor(hintsOf(resource.caching, settings.caching.contents));
      return { uri, mimeType, caching, read: (call) => resource.read(contextOf(call)) };
    }
    if (!skills.mayContain(uri)) return findByTemplate(uri, caller);
    return skills.fileFor(uri, call).then((found) => {
      if (!found) return findByTemplate(uri, caller);
      const { mimeType } = describeFile(found.skill, found.path);
      const caching = skills.cacheHintsFor(settings.caching.contents);
      return { uri, mimeType, caching, read: (reader) => readSkillFile(found, contextOf(reader)) };
    });
  };

  const findByTemplate = (uri: string, caller: ItemCaller): ReadableResource => {
    if (!isUri(uri)) throw invalidParams(`"uri" must be an absolute URI, got ${inspectValue(uri)}`);
    for (const { item } of resourceTemplates.visibleTo(caller).list()) {
      const variables = item.match(uri);
      if (!variables) continue;
      const { mimeType } = item;
      return {
        uri,
        mimeType,
        caching: resourceTemplates.cacheHintsFor(hintsOf(item.caching, settings.caching.contents)),
        // The URI matched the template, so the variables have its type.
        read: (call) => item.read(uri, variables as never, contextOf(call)),
      };
    }
    throw caller.peer.dialect.resourceNotFound(uri);
  };

  const subscribe =
    (call: RequestContext) =>
    ({ uri }: ReadableResource): JsonObject => {
      subscriptions.of(scopeOfCall(call)).add(uri);
      const isForSome = [resources, resourceTemplates, skills].some((items) => items.isRestricted);
      if (isForSome) visibility.recordShown(call.request);
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
        // The list includes resources of templates and the SKILL.md of each skill.
        const sources = [resources, resourceTemplates, skills];
        const caching = sources.reduce<CacheHints>(
          (hints, items) => items.cacheHintsFor(hints),
          settings.caching.resources,
        );
        return dialect.cacheable({ resources: described, ...next }, caching);
      },
      'resources/templates/list': (params, call) => {
        const { dialect } = call.request.peer;
        const { pageSize } = scopeOfCall(call).limits;
        const list = resourceTemplates.listFor(call.request);
        const { items, ...next } = pageOf('resources/templates/list', list, params, pageSize);
        const described = items.map((item) => dialect.template(item));
        const result = { resourceTemplates: described, ...next };
        const caching = resourceTemplates.cacheHintsFor(settings.caching.resourceTemplates);
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
        // The resource may have been removed since.
        const isSubscribed = subscriptions.peek(scopeOfCall(call))?.delete(uri);
        const target = isSubscribed ? undefined : find(uri, call);
        return isThenable(target) ? target.then(() => ({})) : {};
      },
    },
    list: {
      capability: 'resources',
      sources: [resources, resourceTemplates, skills],
      notification: 'notifications/resources/list_changed',
      describeItems: () => [
        ...resources.list().map(({ item }) => latestHandshake.resource(item)),
        ...resourceTemplates.list().map(({ item }) => latestHandshake.template(item)),
        ...skills
          .list()
          .map(({ item }) => latestHandshake.resource(describeFile(item, skillFileName))),
      ],
    },
    subscribedBy: (session) => subscriptions.peek(session)?.all ?? [],
    updated: (session, uri) => {
      const isAnnounced = subscriptions.peek(session)?.has(uri);
      const view = isAnnounced ? visibility.viewIn(session) : undefined;
      if (isAnnounced && (!view || isResourceVisible(uri, catalog, view))) {
        session.notify(Method.resourceUpdated, { uri });
      }
    },
  };
}

/** True if a caller sees the resource. A removed resource counts as visible, so that subscribers learn of its end. */
export function isResourceVisible(
  uri: string,
  { resources, resourceTemplates, skills }: ServerCatalog,
  view: CallerView,
): boolean {
  const resource = resources.get(uri);
  const templates = resourceTemplates.list().filter(({ item }) => item.match(uri) !== undefined);
  const having = skills.list().filter(({ item }) => findSkillFile([item], uri) !== undefined);
  if (!resource && templates.length === 0 && having.length === 0) return true;
  if (resource && view.sees(resource, uri)) return true;
  if (having.some(({ item }) => view.sees(item, item.uri))) return true;
  return templates.some(({ item }) => view.sees(item, item.uriTemplate));
}

/** Subscriptions of one session, within its limits. */
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

  /** Adds a subscription. @throws {ProtocolError} -32000 if the count or memory limit is exceeded */
  add(uri: string): void {
    if (this.#uris.has(uri)) return;
    const { maxSubscriptions, maxRetainedBytes } = this.#limits;
    if (this.#uris.size >= maxSubscriptions) {
      throw tooManySubscriptions(`${maxSubscriptions} subscriptions`);
    }
    if (!this.#retained?.resize(this.#length + uri.length, maxRetainedBytes)) {
      throw tooManySubscriptions(`${maxRetainedBytes} bytes of retained data`);
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

function tooManySubscriptions(limit: string): ProtocolError {
  const message = `Too many subscriptions: the limit is ${limit}. Unsubscribe from some resources first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  return new ProtocolError(ErrorCode.serverUnavailable, message, data);
}

const listKind = 'resources/list';

/** Kind of the cursors in the second part of the list, which contain a URI. */
const templateListKind = 'resources/list/listed';

/**
 * Returns one page of all resources: first the fixed ones by position, then those of skills and templates by
 * URI. Templates list their resources again for each page, so those have no stable positions; a
 * cursor with the last URI stays valid.
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
  const fixed = resources.listFor(call.request);
  const templates = resourceTemplates.listFor(call.request).map(({ item }) => item);
  const listing = templates.filter(({ list }) => list !== undefined);
  const listedAfter = async (uri: string) => {
    skills.listFor(call.request);
    const seen = await skills.visibleIn(call);
    const files = seen.map((skill) => describeFile(skill, skillFileName));
    const listed = await listedBy(files, listing, context);
    const known = new Set(fixed.map(({ item }) => item.uri));
    return listed.filter((resource) => resource.uri > uri && !known.has(resource.uri));
  };

  const after = readTextCursor(templateListKind, params?.['cursor'] ?? undefined);
  if (after !== undefined) return firstPage(templateListKind, await listedAfter(after), pageSize);

  const page = pageOf(listKind, fixed, params, pageSize);
  if (page.nextCursor !== undefined || (listing.length === 0 && !skills.hasAny)) return page;
  const room = pageSize - page.items.length;
  const { items, nextCursor } = firstPage(templateListKind, await listedAfter(''), room);
  return {
    items: [...page.items, ...items],
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}

/** Resources of skills and templates without duplicates, ordered by URI. The first description wins. */
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
  const what = `"list" of the resource template ${inspectValue(template.uriTemplate)}`;
  if (!Array.isArray(listed)) {
    throw new TypeError(`${what} must return a list of resources, got ${inspectValue(listed)}`);
  }
  const resources: readonly unknown[] = listed;
  return resources.map((resource, at) => {
    checkListed(resource, `resource ${at} of ${what}`);
    return resource;
  });
}

function checkListed(resource: unknown, what: string): asserts resource is ResourceDescription {
  for (const member of ['uri', 'name']) {
    const value = isJsonObject(resource) ? resource[member] : undefined;
    if (typeof value === 'string') continue;
    throw new TypeError(`${what} must have a string "${member}", got ${inspectValue(value)}`);
  }
}
