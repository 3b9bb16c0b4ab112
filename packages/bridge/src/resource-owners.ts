/**
 * Maps a resource URI to the server that owns it.
 *
 * URIs are not rewritten, because results, links and templates contain them. If two servers have the same URI, the first
 * one seen keeps it, and the other's is prefixed: `bridge:SERVER/URI`. The prefixed form works for every resource.
 */
import { uriTemplate } from '../../../src/server/define/uri-template.ts';
import type { UriTemplate } from '../../../src/server/define/uri-template.ts';
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { skillRoot } from '../../../src/protocol/skills.ts';
import type { ManagedServer } from './managed-server.actor.ts';
import type { ServerList } from './bridged-server.ts';

/** A resource or template, and its server. */
export interface OwnedResource {
  readonly managed: ManagedServer;
  /** The server's own URI. */
  readonly uri: string;
}

/** Maximum number of URIs to remember. */
const maxClaims = 50_000;

/** Maximum number of skills to remember. */
const maxSkills = 10_000;

/** Maximum length of a URI that is looked up among skill files, characters. */
const maxSkillUri = 4096;

const scheme = 'bridge:';

/** Prefixes a URI with its server, which makes it unique. */
const qualified = (server: string, uri: string): string =>
  `${scheme}${encodeURIComponent(server)}/${uri}`;

export class ResourceOwners {
  readonly #servers: ReadonlyMap<string, ManagedServer>;
  /** Server name by URI or template. */
  readonly #claims = new BoundedMap<string, string>(maxClaims);
  /** Server name by skill directory. */
  readonly #skills = new BoundedMap<string, string>(maxSkills);
  readonly #templates = new WeakMap<ServerList, readonly UriTemplate[]>();

  constructor(servers: ReadonlyMap<string, ManagedServer>) {
    this.#servers = servers;
  }

  /** The URI or template under which the client sees a server's resource. */
  shown({ name }: ManagedServer, uri: string): string {
    const owner = this.#ownerOf(uri);
    if (owner === undefined) this.#claims.set(uri, name);
    return owner === undefined || owner === name ? uri : qualified(name, uri);
  }

  /** All forms in which a client may know a server's URI. */
  names(managed: ManagedServer, uri: string): readonly string[] {
    return [...new Set([this.shown(managed, uri), qualified(managed.name, uri)])];
  }

  /** The server that owns a URI, unless it was removed. */
  #ownerOf(uri: string): string | undefined {
    const owner = this.#claims.get(uri);
    if (owner === undefined || this.#servers.has(owner)) return owner;
    this.#claims.delete(uri);
    return undefined;
  }

  /** Records the resources that a server's result mentions as its own. */
  seen(managed: ManagedServer, { content }: JsonObject): void {
    if (!Array.isArray(content)) return;
    for (const block of content as readonly unknown[]) {
      if (!isJsonObject(block)) continue;
      const { type, uri, resource } = block;
      const named = isJsonObject(resource) ? resource['uri'] : type === 'resource_link' && uri;
      if (typeof named === 'string') this.shown(managed, named);
    }
  }

  /** Records the user interface that a tool names as its server's. */
  seenTool(managed: ManagedServer, { _meta: meta }: JsonObject): void {
    if (!isJsonObject(meta)) return;
    const ui = isJsonObject(meta['ui']) ? meta['ui']['resourceUri'] : meta['ui/resourceUri'];
    if (typeof ui === 'string') this.shown(managed, ui);
  }

  /** Records a skill with its directory. @returns false if another server owns the URI */
  hasSkill(managed: ManagedServer, uri: string): boolean {
    if (this.shown(managed, uri) !== uri) return false;
    this.#skills.set(skillRoot(uri), managed.name);
    return true;
  }

  /** The server whose skill contains a file or directory. */
  #ownerOfSkill(uri: string): string | undefined {
    if (uri.length > maxSkillUri) return undefined;
    for (let end = uri.length; end > 0; end = uri.lastIndexOf('/', end - 1)) {
      const owner = this.#skills.get(uri.slice(0, end));
      if (owner !== undefined && this.#servers.has(owner)) return owner;
    }
    return undefined;
  }

  /** The server of a URI or template; undefined if unknown. */
  of(uri: string): OwnedResource | undefined {
    const named = this.#named(uri);
    if (named) return named;
    const owner = this.#ownerOf(uri) ?? this.#ownerOfSkill(uri);
    const claimed = owner === undefined ? undefined : this.#servers.get(owner);
    const managed = claimed ?? this.#fitting(uri);
    if (!managed) return undefined;
    this.shown(managed, uri);
    return { managed, uri };
  }

  /** The server named by the prefix of a URI. */
  #named(uri: string): OwnedResource | undefined {
    if (!uri.startsWith(scheme)) return undefined;
    const end = uri.indexOf('/');
    const server = uri.slice(scheme.length, end);
    const managed = [...this.#servers.values()].find(
      ({ name }) => encodeURIComponent(name) === server,
    );
    return managed && { managed, uri: uri.slice(end + 1) };
  }

  /** The first server with a matching template. */
  #fitting(uri: string): ManagedServer | undefined {
    return [...this.#servers.values()].find((managed) => {
      const list = managed.known('resourceTemplates');
      return list && this.#templatesOf(list).some((template) => template.match(uri) !== undefined);
    });
  }

  #templatesOf(list: ServerList): readonly UriTemplate[] {
    const known = this.#templates.get(list);
    if (known) return known;
    const templates = list.items.flatMap(({ uriTemplate: text }) => {
      try {
        return [uriTemplate(String(text))];
      } catch {
        // An invalid template can be listed, but matches nothing.
        return [];
      }
    });
    this.#templates.set(list, templates);
    return templates;
  }
}

/** Prefixes the URIs in a result for a resource that was requested with its prefix. */
export function named(result: JsonObject, own: string, wanted: string): JsonObject {
  const { contents } = result;
  if (own === wanted || !Array.isArray(contents)) return result;
  const renamed = (contents as readonly unknown[]).map((each) =>
    isJsonObject(each) && each['uri'] === own ? { ...each, uri: wanted } : each,
  );
  return { ...result, contents: renamed };
}
