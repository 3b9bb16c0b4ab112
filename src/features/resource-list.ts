/**
 * resources/list: the fixed resources by their places, then what the templates list, by URI.
 *
 * A template's list has no places that last: it is made anew for each page. In the order of the URIs a cursor that names the last one
 * stays good whatever comes and goes.
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

/** The cursors of the second part: they name a URI. */
const listedKind = 'resources/list/listed';

/** One page of all resources. */
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

/** By URI, each once: of two templates that list the same one, the first describes it. */
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
  for (const [at, resource] of listed.entries()) {
    for (const member of ['uri', 'name']) {
      const value: unknown = isJsonObject(resource) ? resource[member] : undefined;
      if (typeof value === 'string') continue;
      throw new TypeError(
        `resource ${at} in ${what} must have a string "${member}", this is ${describe(value)}`,
      );
    }
  }
  return listed as readonly ResourceDescription[];
}
