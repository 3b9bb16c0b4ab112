/**
 * Where the references of a JSON Schema lead: `$id`, `$anchor`, `$dynamicAnchor` and JSON Pointers,
 * all within the schema. Nothing is ever fetched.
 *
 * @see JSON Schema 2020-12 Core, section 8.2, "Base URI, Anchors, and Dereferencing"
 */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';

/** A schema with a URI of its own: the root, or one with an `$id`. */
export interface SchemaResource {
  readonly uri: string;
  readonly anchors: Map<string, Located>;
  /** Those of the anchors that a `$dynamicRef` may find from elsewhere. */
  readonly dynamicAnchors: Map<string, Located>;
}

/** A schema, the resource that it belongs to, and its place: `#/properties/a`. */
export interface Located {
  readonly schema: unknown;
  readonly resource: SchemaResource;
  readonly at: string;
}

/** The URI of a root that has no `$id`. */
const rootUri = 'schema:/';

export class SchemaResources {
  readonly root: Located;
  readonly #resources = new Map<string, Located>();

  /** @throws {TypeError} its `$id` is not a URI reference */
  constructor(schema: unknown) {
    const uri = uriOf(schema, rootUri, '#') ?? rootUri;
    this.root = this.#enter(uri, schema, '#');
  }

  /**
   * Notes what a schema can be found by. Call it for each of the schemas, the outer ones first.
   *
   * @throws {TypeError} its `$id` is not a URI reference, or an anchor is not a string
   */
  note(schema: JsonObject, outer: SchemaResource, at: string): SchemaResource {
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

  /** The resource of a schema that has been noted. */
  resourceOf(schema: unknown, outer: SchemaResource, at: string): SchemaResource {
    const uri = at === '#' ? undefined : uriOf(schema, outer.uri, at);
    return (uri === undefined ? undefined : this.#resources.get(uri)?.resource) ?? outer;
  }

  /**
   * The schema that a reference leads to.
   *
   * @throws {TypeError} it leads nowhere
   */
  find(reference: string, from: SchemaResource, at: string): Located {
    const [uri = '', fragment = ''] = resolved(reference, from.uri, at).split('#', 2);
    const nowhere = (why: string) =>
      new TypeError(`${at} is ${inspectValue(reference)}, which leads nowhere: ${why}`);
    const target = this.#resources.get(uri);
    if (!target) throw nowhere('no "$id" within the schema says so, and nothing is fetched');
    const name = decoded(fragment);
    if (name === undefined) throw nowhere('it is not encoded as a URI is');
    if (name === '') return target;
    const found = name.startsWith('/')
      ? this.#walk(target, name.split('/').slice(1))
      : target.resource.anchors.get(name);
    if (found) return found;
    throw nowhere('the schema has nothing there');
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

/** The URI that an `$id` gives a schema; undefined if it has none. */
function uriOf(schema: unknown, base: string, at: string): string | undefined {
  const $id = isJsonObject(schema) ? schema['$id'] : undefined;
  if (typeof $id !== 'string') return undefined;
  return resolved($id, base, `${at}/$id`).split('#', 1)[0];
}

/** @throws {TypeError} it is not a URI reference */
function resolved(reference: string, base: string, at: string): string {
  if (URL.canParse(reference, base)) return new URL(reference, base).href;
  throw new TypeError(`${at} is ${inspectValue(reference)}, which is no URI reference`);
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
