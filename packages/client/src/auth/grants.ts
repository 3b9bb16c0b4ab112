/** A host's grants at one resource, as they are kept in a store. */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { CredentialStore } from './credential-store.ts';

/** A client, as the authorization server knows it. */
export interface KnownClient {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
  readonly redirect_uris?: string[];
}

/** What is kept of a registration. */
export function knownClient(
  { client_id, client_secret, token_endpoint_auth_method }: KnownClient,
  redirectUri: string,
): KnownClient {
  return { client_id, client_secret, token_endpoint_auth_method, redirect_uris: [redirectUri] };
}

/** A token, and what is needed to renew it. */
export interface Grant {
  readonly issuer: string;
  /** Identifies the login that it comes from; a renewed grant keeps it. */
  readonly login?: string | undefined;
  /** The client that it was issued to. */
  readonly client: KnownClient;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Separated by spaces. */
  readonly scope?: string | undefined;
  /** The resource's identifier (RFC 8707); undefined if it has no metadata. */
  readonly resource?: string | undefined;
  /**
   * When it should be renewed, a little before it expires: milliseconds since 1970; undefined if
   * the authorization server did not name a lifetime.
   */
  readonly renewAt?: number | undefined;
  /** When it expires, milliseconds since 1970; undefined as `renewAt`. */
  readonly expiresAt?: number | undefined;
}

/** The tokens in an authorization server's answer. */
export interface GivenTokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
  readonly scope?: string | undefined;
}

/** @param asked the requested scopes: a server may omit the granted scopes if they are the same */
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
    ...(tokens.expires_in === undefined ? noTimes : timesOf(tokens.expires_in * 1000)),
  };
}

const noTimes = { renewAt: undefined, expiresAt: undefined };

function timesOf(lifetimeMs: number): { readonly renewAt: number; readonly expiresAt: number } {
  const expiresAt = Date.now() + lifetimeMs;
  // A short-lived token is renewed after half of its lifetime.
  return { renewAt: expiresAt - Math.min(10_000, lifetimeMs / 2), expiresAt };
}

/** A login that a person did not make: those who waited for it do not ask them again. */
export interface Declined {
  /** When that was, milliseconds since 1970. */
  readonly at: number;
  /** The scopes that were wanted; undefined for those that the server gives. */
  readonly scope: string | undefined;
  readonly kind: 'declined' | 'unanswered';
  readonly message: string;
}

/** How a person logs in: a client is registered for each by itself. */
export type PersonFlow = 'browser' | 'device';

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

  /** Runs the work exclusively for this resource among all that share the store. */
  exclusive<T>(
    what: 'login' | 'refresh',
    work: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.#store.exclusive(`${what} ${this.#resource}`, work, signal);
  }

  /** The last grant. */
  async read(): Promise<Grant | undefined> {
    const issuer = await this.issuer();
    const kept = await this.#store.read(this.#grantKey(issuer));
    return isGrant(kept) && kept.issuer === issuer ? kept : undefined;
  }

  /** The issuer of the last grant. */
  async issuer(): Promise<string | undefined> {
    return textIn(await this.#store.read(this.#loginKey), 'issuer');
  }

  async write(grant: Grant): Promise<void> {
    await this.#store.write(this.#grantKey(grant.issuer), { ...grant });
    await this.#store.write(this.#loginKey, { issuer: grant.issuer });
  }

  async remove({ issuer }: Grant): Promise<void> {
    await this.#store.remove(this.#grantKey(issuer));
  }

  /** Removes the grant, and that there was a login. */
  async forget(grant: Grant): Promise<void> {
    await this.remove(grant);
    await this.#store.remove(this.#loginKey);
    await this.#store.remove(`declined ${this.#resource}`);
  }

  /** The last login that a person has declined or left unanswered. */
  async declined(): Promise<Declined | undefined> {
    const kept = await this.#store.read(`declined ${this.#resource}`);
    return isDeclined(kept) ? kept : undefined;
  }

  async writeDeclined(declined: Declined): Promise<void> {
    await this.#store.write(`declined ${this.#resource}`, { ...declined });
  }

  /** Our registration at this issuer. */
  async client(issuer: string, flow: PersonFlow = 'browser'): Promise<KnownClient | undefined> {
    const kept = await this.#store.read(clientKey(issuer, flow));
    return isClient(kept) ? kept : undefined;
  }

  async writeClient(
    issuer: string,
    client: KnownClient,
    flow: PersonFlow = 'browser',
  ): Promise<void> {
    await this.#store.write(clientKey(issuer, flow), { ...client });
    if (flow === 'device') return;
    await this.#store.write(`redirect ${this.#resource}`, { url: client.redirect_uris?.[0] });
  }

  /** The last redirect URL: a client that was registered with it can be used again. */
  async redirectUrl(): Promise<string | undefined> {
    return textIn(await this.#store.read(`redirect ${this.#resource}`), 'url');
  }

  /** The only issuer that may see the host's own client; the given one if none is pinned yet. */
  async pinnedIssuer(clientId: string, first: string): Promise<string> {
    const key = `pinned ${clientId} ${this.#resource}`;
    const kept = textIn(await this.#store.read(key), 'issuer');
    if (kept === undefined) await this.#store.write(key, { issuer: first });
    return kept ?? first;
  }

  get #loginKey(): string {
    return loginPrefix + this.#resource;
  }

  #grantKey(issuer: string | undefined): string {
    return `grant ${issuer} ${this.#resource}`;
  }
}

const loginPrefix = 'resource ';

/** The server of the login that a key of a store is about; undefined for any other key. */
export function loggedInAt(key: string): string | undefined {
  return key.startsWith(loginPrefix) ? key.slice(loginPrefix.length) : undefined;
}

const clientKey = (issuer: string, flow: PersonFlow): string =>
  `${flow === 'device' ? 'device client' : 'client'} ${issuer}`;

function textIn(document: JsonObject | undefined, name: string): string | undefined {
  const value = document?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** The host provides the store, and it may contain what another version wrote. */
function isGrant(value: unknown): value is Grant {
  return (
    isJsonObject(value) &&
    typeof value['issuer'] === 'string' &&
    typeof value['accessToken'] === 'string' &&
    isClient(value['client']) &&
    ['refreshToken', 'scope', 'resource', 'login'].every((name) =>
      isAbsentOr('string', value[name]),
    ) &&
    isAbsentOr('number', value['renewAt']) &&
    isAbsentOr('number', value['expiresAt'])
  );
}

function isDeclined(value: unknown): value is Declined {
  return (
    isJsonObject(value) &&
    typeof value['at'] === 'number' &&
    isAbsentOr('string', value['scope']) &&
    (value['kind'] === 'declined' || value['kind'] === 'unanswered') &&
    typeof value['message'] === 'string'
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
