/**
 * Whose a resource is among many servers.
 *
 * A URI stays as its server has given it: results, links and templates contain it. If two servers
 * have the same one, it is the first one's that was seen to have it, and stays so. The other's is
 * named with its server in front: `bridge:SERVER/URI`. That form is understood for every resource.
 */
import { uriTemplate } from '../../../src/server/define/uri-template.ts';
import type { UriTemplate } from '../../../src/server/define/uri-template.ts';
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { skillRoot } from '../../../src/protocol/skills.ts';
import type { ManagedServer } from './managed-server.actor.ts';
import type { ServerList } from './bridged-server.ts';

/** A resource, or a template, at its server. */
export interface OwnedResource {
  readonly managed: ManagedServer;
  /** The server's own URI. */
  readonly uri: string;
}

/** How many URIs are remembered with their servers. */
const maxClaims = 50_000;

/** How many skills are remembered with their servers. */
const maxSkills = 10_000;

/** A longer URI is not looked for among the files of skills, characters. */
const maxSkillUri = 4096;

const scheme = 'bridge:';

/** A server's resource under the name that no other server's can have. */
const qualified = (server: string, uri: string): string =>
  `${scheme}${encodeURIComponent(server)}/${uri}`;

export class ResourceOwners {
  readonly #servers: ReadonlyMap<string, ManagedServer>;
  /** URIs and templates, with the names of their servers. */
  readonly #claims = new BoundedMap<string, string>(maxClaims);
  /** The directories of skills, with the names of their servers. */
  readonly #skills = new BoundedMap<string, string>(maxSkills);
  readonly #templates = new WeakMap<ServerList, readonly UriTemplate[]>();

  constructor(servers: ReadonlyMap<string, ManagedServer>) {
    this.#servers = servers;
  }

  /** How the client is told a URI, or a template, that a server has. */
  shown({ name }: ManagedServer, uri: string): string {
    const owner = this.#ownerOf(uri);
    if (owner === undefined) this.#claims.set(uri, name);
    return owner === undefined || owner === name ? uri : qualified(name, uri);
  }

  /** All names that a client may know a URI of a server by. */
  names(managed: ManagedServer, uri: string): readonly string[] {
    return [...new Set([this.shown(managed, uri), qualified(managed.name, uri)])];
  }

  /** The server that has claimed a URI, unless it is gone. */
  #ownerOf(uri: string): string | undefined {
    const owner = this.#claims.get(uri);
    if (owner === undefined || this.#servers.has(owner)) return owner;
    this.#claims.delete(uri);
    return undefined;
  }

  /** The resources that a result of a server names are its own. */
  seen(managed: ManagedServer, { content }: JsonObject): void {
    if (!Array.isArray(content)) return;
    for (const block of content as readonly unknown[]) {
      if (!isJsonObject(block)) continue;
      const { type, uri, resource } = block;
      const named = isJsonObject(resource) ? resource['uri'] : type === 'resource_link' && uri;
      if (typeof named === 'string') this.shown(managed, named);
    }
  }

  /** The user interface that a tool names is its server's. */
  seenTool(managed: ManagedServer, { _meta: meta }: JsonObject): void {
    if (!isJsonObject(meta)) return;
    const ui = isJsonObject(meta['ui']) ? meta['ui']['resourceUri'] : meta['ui/resourceUri'];
    if (typeof ui === 'string') this.shown(managed, ui);
  }

  /** Whether a skill is this server's: whatever is in its directory is, too. False if the URI is another server's. */
  hasSkill(managed: ManagedServer, uri: string): boolean {
    if (this.shown(managed, uri) !== uri) return false;
    this.#skills.set(skillRoot(uri), managed.name);
    return true;
  }

  /** The server with the skill that a file or a directory is in. */
  #ownerOfSkill(uri: string): string | undefined {
    if (uri.length > maxSkillUri) return undefined;
    for (let end = uri.length; end > 0; end = uri.lastIndexOf('/', end - 1)) {
      const owner = this.#skills.get(uri.slice(0, end));
      if (owner !== undefined && this.#servers.has(owner)) return owner;
    }
    return undefined;
  }

  /** Whose a URI or a template is, as far as it is known. */
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

  /** The server that a URI has in front. */
  #named(uri: string): OwnedResource | undefined {
    if (!uri.startsWith(scheme)) return undefined;
    const end = uri.indexOf('/');
    const server = uri.slice(scheme.length, end);
    const managed = [...this.#servers.values()].find(
      ({ name }) => encodeURIComponent(name) === server,
    );
    return managed && { managed, uri: uri.slice(end + 1) };
  }

  /** The first server with a template that fits. */
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
        // It can be listed, and fits nothing.
        return [];
      }
    });
    this.#templates.set(list, templates);
    return templates;
  }
}

/** A result about a resource whose URI had its server in front: the contents have it, too. */
export function named(result: JsonObject, own: string, wanted: string): JsonObject {
  const { contents } = result;
  if (own === wanted || !Array.isArray(contents)) return result;
  const renamed = (contents as readonly unknown[]).map((each) =>
    isJsonObject(each) && each['uri'] === own ? { ...each, uri: wanted } : each,
  );
  return { ...result, contents: renamed };
}
