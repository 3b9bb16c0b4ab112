/** What a host was granted at one resource, as it is kept in a store. */
import { isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { CredentialStore } from './credential-store.ts';

/** A client, as the authorization server knows it. */
export interface KnownClient {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
  readonly redirect_uris?: readonly string[];
}

/** A token, and what is needed to renew it. */
export interface Grant {
  readonly issuer: string;
  /** Tells the login that it came of from all others; a renewed grant has that of the one before. */
  readonly login?: string | undefined;
  /** Who it was given to. */
  readonly client: KnownClient;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Separated by spaces. */
  readonly scope?: string | undefined;
  /** What the resource calls itself (RFC 8707); undefined if it has no metadata. */
  readonly resource?: string | undefined;
  /**
   * From when on it is renewed before it is used: a little before it ends. Milliseconds since 1970;
   * undefined if the authorization server did not say when that is.
   */
  readonly renewAt?: number | undefined;
}

/** The tokens that an authorization server has answered with. */
export interface GivenTokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
  readonly scope?: string | undefined;
}

/** @param asked the scopes that were asked for: a server may leave out what it has granted if it is that */
export function grantFrom(
  tokens: GivenTokens,
  asked: string | undefined,
  of: Pick<Grant, 'issuer' | 'client' | 'resource' | 'login'>,
): Grant {
  return {
    login: crypto.randomUUID(),
    ...of,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    scope: tokens.scope ?? asked,
    renewAt: tokens.expires_in === undefined ? undefined : renewAt(tokens.expires_in * 1000),
  };
}

/** One that lives shortly is used for half of its time. */
const renewAt = (lifetimeMs: number): number =>
  Date.now() + lifetimeMs - Math.min(10_000, lifetimeMs / 2);

/**
 * The grants of a resource, one for each issuer, and the registrations at those issuers. A token or a
 * registration of one issuer is never shown to another.
 */
export class Grants {
  readonly #store: CredentialStore;
  readonly #resource: string;

  constructor(store: CredentialStore, server: URL) {
    const resource = new URL(server);
    resource.hash = '';
    this.#store = store;
    this.#resource = resource.href;
  }

  /** Work that only one at a time does for this resource, of all who share the store. */
  exclusive<T>(what: 'login' | 'refresh', work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#store.exclusive(`${what} ${this.#resource}`, work, signal);
  }

  /** What was granted last. */
  async read(): Promise<Grant | undefined> {
    const issuer = await this.issuer();
    if (issuer === undefined) return undefined;
    const kept = await this.#store.read(this.#grantKey(issuer));
    return isGrant(kept) && kept.issuer === issuer ? kept : undefined;
  }

  /** The issuer of what was granted last. */
  async issuer(): Promise<string | undefined> {
    return textIn(await this.#store.read(`resource ${this.#resource}`), 'issuer');
  }

  async write(grant: Grant): Promise<void> {
    await this.#store.write(this.#grantKey(grant.issuer), { ...grant });
    await this.#store.write(`resource ${this.#resource}`, { issuer: grant.issuer });
  }

  async remove({ issuer }: Grant): Promise<void> {
    await this.#store.remove(this.#grantKey(issuer));
  }

  /** The registration of ours at this issuer. */
  async client(issuer: string): Promise<KnownClient | undefined> {
    const kept = await this.#store.read(`client ${issuer}`);
    return isClient(kept) ? kept : undefined;
  }

  async writeClient(issuer: string, client: KnownClient): Promise<void> {
    await this.#store.write(`client ${issuer}`, { ...client });
    await this.#store.write(`redirect ${this.#resource}`, { url: client.redirect_uris?.[0] });
  }

  /** Where the person was sent back to last: a client that was registered with it can be used again. */
  async redirectUrl(): Promise<string | undefined> {
    return textIn(await this.#store.read(`redirect ${this.#resource}`), 'url');
  }

  /** The only issuer that a client of the host's own is shown to; the given one if there is none yet. */
  async pinnedIssuer(clientId: string, first: string): Promise<string> {
    const key = `pinned ${clientId} ${this.#resource}`;
    const kept = textIn(await this.#store.read(key), 'issuer');
    if (kept === undefined) await this.#store.write(key, { issuer: first });
    return kept ?? first;
  }

  #grantKey(issuer: string): string {
    return `grant ${issuer} ${this.#resource}`;
  }
}

function textIn(document: JsonObject | undefined, name: string): string | undefined {
  const value = document?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** A store is a host's own, and may hold what another version has written. */
function isGrant(value: unknown): value is Grant {
  return (
    isJsonObject(value) &&
    typeof value['issuer'] === 'string' &&
    typeof value['accessToken'] === 'string' &&
    isClient(value['client']) &&
    ['refreshToken', 'scope', 'resource', 'login'].every((name) =>
      isAbsentOr('string', value[name]),
    ) &&
    isAbsentOr('number', value['renewAt'])
  );
}

function isClient(value: unknown): value is KnownClient {
  return (
    isJsonObject(value) &&
    typeof value['client_id'] === 'string' &&
    isAbsentOr('string', value['client_secret'])
  );
}

const isAbsentOr = (type: 'string' | 'number', value: unknown): boolean =>
  value === undefined || typeof value === type;
