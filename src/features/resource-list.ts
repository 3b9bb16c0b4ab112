/**
 * resources/list: the fixed resources by their places, then those that templates list, by URI.
 *
 * A template lists its resources anew for each page, so they have no lasting places. Ordered by
 * URI, a cursor that names the last one stays valid whatever comes and goes.
 *
 * @see MCP 2025-11-25, server/resources, "Listing Resources"
 */
import { describe, isJsonObject } from '../protocol/classify.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { Catalog } from './registry.ts';
import type { ResourceDescription, ResourceTemplate } from '../define/resource.ts';
import type { Page } from './pagination.ts';
import { pageOf, readTextCursor, textCursor } from './pagination.ts';

const kind = 'resources/list';

/** Marks the cursors of the second part, which name a URI. */
const listedKind = 'resources/list/listed';

/** Gives one page of all resources. */
export async function resourcePage(
  { resources, resourceTemplates }: Pick<Catalog, 'resources' | 'resourceTemplates'>,
  params: JsonObject | undefined,
  pageSize: number,
  context: HandlerContext,
): Promise<Page<ResourceDescription>> {
  const templates = resourceTemplates.list().map(({ item }) => item);
  const listing = templates.filter(({ list }) => list !== undefined);
  const listedAfter = async (uri: string) => {
    const listed = await listedBy(listing, context);
    const known = new Set(resources.keys());
    return listed.filter((resource) => resource.uri > uri && !known.has(resource.uri));
  };

  const after = readTextCursor(listedKind, params?.['cursor']);
  if (after !== undefined) return cut(await listedAfter(after), pageSize);

  const page = pageOf(kind, resources.list(), params, pageSize);
  if (page.nextCursor !== undefined || listing.length === 0) return page;
  const room = pageSize - page.items.length;
  const { items, nextCursor } = cut(await listedAfter(''), room);
  return {
    items: [...page.items, ...items],
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}

function cut(listed: readonly ResourceDescription[], size: number): Page<ResourceDescription> {
  const items = listed.slice(0, size);
  if (items.length === listed.length) return { items };
  return { items, nextCursor: textCursor(listedKind, items.at(-1)?.uri ?? '') };
}

/** By URI, each once. If two templates list the same resource, the first one describes it. */
async function listedBy(
  templates: readonly ResourceTemplate[],
  context: HandlerContext,
): Promise<readonly ResourceDescription[]> {
  const lists = await Promise.all(templates.map(async (template) => readList(template, context)));
  const byUri = new Map<string, ResourceDescription>();
  for (const resource of lists.flat()) {
    if (!byUri.has(resource.uri)) byUri.set(resource.uri, resource);
  }
  return [...byUri.values()].sort((one, other) => (one.uri < other.uri ? -1 : 1));
}

async function readList(
  template: ResourceTemplate,
  context: HandlerContext,
): Promise<readonly ResourceDescription[]> {
  const listed: unknown = await template.list?.(context);
  const what = `the list of the template ${describe(template.uriTemplate)}`;
  if (!Array.isArray(listed)) {
    throw new TypeError(`${what} must be a list of resources, this is ${describe(listed)}`);
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
    throw new TypeError(`${what} must have a string "${member}", this is ${describe(value)}`);
  }
}
