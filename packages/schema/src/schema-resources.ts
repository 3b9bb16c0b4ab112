/**
 * Resolves references within a JSON Schema: `$id`, `$anchor`, `$dynamicAnchor` and JSON Pointers.
 * Fetches nothing.
 *
 * @see JSON Schema 2020-12 Core, section 8.2, "Base URI, Anchors, and Dereferencing"
 */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';

/** A schema resource: the root or a schema with an `$id`. */
export interface SchemaResource {
  readonly uri: string;
  readonly anchors: Map<string, Located>;
  /** Anchors that a `$dynamicRef` may find from other resources. */
  readonly dynamicAnchors: Map<string, Located>;
}

/** A schema with its resource and its location, such as `#/properties/a`. */
export interface Located {
  readonly schema: unknown;
  readonly resource: SchemaResource;
  readonly at: string;
}

/** URI of a root without `$id`. */
const rootUri = 'schema:/';

export class SchemaResources {
  readonly root: Located;
  readonly #resources = new Map<string, Located>();

  /** @throws {TypeError} if `$id` is not a URI reference */
  constructor(schema: unknown) {
    const uri = uriOf(schema, rootUri, '#') ?? rootUri;
    this.root = this.#enter(uri, schema, '#');
  }

  /**
   * Registers the `$id` and anchors of a schema. Call it for every schema, outer ones first.
   *
   * @throws {TypeError} if `$id` is not a URI reference or an anchor is not a string
   */
  register(schema: JsonObject, outer: SchemaResource, at: string): SchemaResource {
    const uri = at === '#' ? undefined : uriOf(schema, outer.uri, at);
    const resource = uri === undefined ? outer : this.#enter(uri, schema, at).resource;
    for (const keyword of ['$anchor', '$dynamicAnchor'] as const) {
      const name = schema[keyword];
      if (name === undefined) continue;
      if (typeof name !== 'string') {
        throw new TypeError(`${at}/${keyword} must be a string, got ${inspectValue(name)}`);
      }
      const located = { schema, resource, at };
      resource.anchors.set(name, located);
      if (keyword === '$dynamicAnchor') resource.dynamicAnchors.set(name, located);
    }
    return resource;
  }

  /** Resource of a registered schema. */
  resourceOf(schema: unknown, outer: SchemaResource, at: string): SchemaResource {
    const uri = at === '#' ? undefined : uriOf(schema, outer.uri, at);
    return (uri === undefined ? undefined : this.#resources.get(uri)?.resource) ?? outer;
  }

  /**
   * Resolves a reference.
   *
   * @throws {TypeError} if it cannot be resolved
   */
  find(reference: string, from: SchemaResource, at: string): Located {
    const [uri = '', fragment = ''] = resolved(reference, from.uri, at).split('#', 2);
    const unresolved = (why: string) =>
      new TypeError(`${at}: cannot resolve ${inspectValue(reference)}: ${why}`);
    const target = this.#resources.get(uri);
    if (!target)
      throw unresolved('no "$id" in the schema matches, and external schemas are not fetched');
    const name = decoded(fragment);
    if (name === undefined) throw unresolved('its percent-encoding is invalid');
    if (name === '') return target;
    const found = name.startsWith('/')
      ? this.#walk(target, name.split('/').slice(1))
      : target.resource.anchors.get(name);
    if (found) return found;
    throw unresolved('the schema has no such location or anchor');
  }

  #walk({ schema, resource, at }: Located, pointer: readonly string[]): Located | undefined {
    let found: Located = { schema, resource, at };
    for (const part of pointer) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const holder: unknown = found.schema;
      if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) {
        return undefined;
      }
      const within = (holder as JsonObject)[key];
      const place = `${found.at}/${part}`;
      found = {
        schema: within,
        resource: this.resourceOf(within, found.resource, place),
        at: place,
      };
    }
    return found;
  }

  #enter(uri: string, schema: unknown, at: string): Located {
    const resource = { uri, anchors: new Map(), dynamicAnchors: new Map() };
    const located = { schema, resource, at };
    this.#resources.set(uri, located);
    return located;
  }
}

/** Absolute URI of a schema's `$id`; undefined without one. */
function uriOf(schema: unknown, base: string, at: string): string | undefined {
  const $id = isJsonObject(schema) ? schema['$id'] : undefined;
  if (typeof $id !== 'string') return undefined;
  return resolved($id, base, `${at}/$id`).split('#', 1)[0];
}

/** @throws {TypeError} if `reference` is not a URI reference */
function resolved(reference: string, base: string, at: string): string {
  if (URL.canParse(reference, base)) return new URL(reference, base).href;
  throw new TypeError(`${at} must be a URI reference, got ${inspectValue(reference)}`);
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
