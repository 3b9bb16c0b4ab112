/** Stored grants of one resource, and client registrations. */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { CredentialStore } from './credential-store.ts';

/** A client registered at an authorization server. */
export interface KnownClient {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
  readonly redirect_uris?: string[];
}

/** Stored part of a registration. */
export function knownClient(
  { client_id, client_secret, token_endpoint_auth_method }: KnownClient,
  redirectUri: string,
): KnownClient {
  return { client_id, client_secret, token_endpoint_auth_method, redirect_uris: [redirectUri] };
}

/** A token, and the data needed to refresh it. */
export interface Grant {
  readonly issuer: string;
  /** Id of the login that issued it; refreshed grants keep it. */
  readonly login?: string | undefined;
  /** Client that the grant was issued to. */
  readonly client: KnownClient;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Separated by spaces. */
  readonly scope?: string | undefined;
  /** Resource identifier (RFC 8707); undefined if the resource has no metadata. */
  readonly resource?: string | undefined;
  /**
   * Time to refresh, slightly before expiry, ms since 1970; undefined if the authorization server
   * gave no lifetime.
   */
  readonly renewAt?: number | undefined;
  /** Expiry, ms since 1970; undefined if the authorization server gave no lifetime. */
  readonly expiresAt?: number | undefined;
}

/** Token response of an authorization server. */
export interface GivenTokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
  readonly scope?: string | undefined;
}

/** @param asked requested scopes: the response may omit the granted scopes if they are the same */
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
  // Short-lived tokens are refreshed after half of their lifetime.
  return { renewAt: expiresAt - Math.min(10_000, lifetimeMs / 2), expiresAt };
}

/**
 * A login that the person declined or left unanswered, so that concurrent logins do not ask again.
 */
export interface Declined {
  /** Time of the refusal, ms since 1970. */
  readonly at: number;
  /** Requested scopes; undefined for the server's defaults. */
  readonly scope: string | undefined;
  readonly kind: 'declined' | 'unanswered';
  readonly message: string;
}

/** Kinds of a person's login. Each has a client registration of its own. */
export type PersonFlow = 'browser' | 'device';

/**
 * Grants of a resource, one per issuer, and the registrations at those issuers. Tokens and
 * registrations of one issuer are never sent to another.
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

  /** Runs the work under this resource's lock in the store. */
  exclusive<T>(
    what: 'login' | 'refresh',
    work: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    return this.#store.exclusive(`${what} ${this.#resource}`, work, signal);
  }

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

  /** Removes the grant and all records of its login. */
  async forget(grant: Grant): Promise<void> {
    await this.remove(grant);
    await this.#store.remove(this.#loginKey);
    await this.#store.remove(`declined ${this.#resource}`);
  }

  /** The last login that a person declined or left unanswered. */
  async declined(): Promise<Declined | undefined> {
    const kept = await this.#store.read(`declined ${this.#resource}`);
    return isDeclined(kept) ? kept : undefined;
  }

  async writeDeclined(declined: Declined): Promise<void> {
    await this.#store.write(`declined ${this.#resource}`, { ...declined });
  }

  /** Client registration at this issuer. */
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

  /** The last redirect URL: registrations with it can be reused. */
  async redirectUrl(): Promise<string | undefined> {
    return textIn(await this.#store.read(`redirect ${this.#resource}`), 'url');
  }

  /**
   * The only issuer that may receive the configured client; pins the given one if none is pinned
   * yet.
   */
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

/** Extracts the server URL from a login's store key; undefined for any other key. */
export function loggedInAt(key: string): string | undefined {
  return key.startsWith(loginPrefix) ? key.slice(loginPrefix.length) : undefined;
}

const clientKey = (issuer: string, flow: PersonFlow): string =>
  `${flow === 'device' ? 'device client' : 'client'} ${issuer}`;

function textIn(document: JsonObject | undefined, name: string): string | undefined {
  const value = document?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** The host supplies the store, which may contain documents of another version. */
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
