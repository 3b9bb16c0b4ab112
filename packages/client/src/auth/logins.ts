/** Lists and ends the logins in a store. */
import { basicCredentials } from '../../../../src/protocol/oauth.ts';
import type { CredentialStore } from './credential-store.ts';
import { otherEndpoint } from './discovery.ts';
import { Grants, loggedInAt } from './grants.ts';
import type { Grant } from './grants.ts';
import { assertTrusted, guardedFetch } from './guarded-fetch.ts';
import { loadOfficial, refusalFrom } from './sdk-auth.ts';

/** A stored login, without its tokens. */
export interface Login {
  /** URL of the MCP server. */
  readonly server: string;
  /** Authorization server that issued the tokens. */
  readonly issuer: string;
  /** Client id that the tokens were issued to. */
  readonly clientId: string;
  /** Scopes, separated by spaces; undefined if none were requested or granted explicitly. */
  readonly scope?: string | undefined;
  /** Expiry of the access token, ms since 1970; undefined if the issuer gave none. */
  readonly expiresAt?: number | undefined;
  /** True if the login can be refreshed without a person. */
  readonly isRenewable: boolean;
}

/** Result of a logout. */
export type LogoutOutcome =
  /** No login was stored. */
  | { readonly kind: 'none' }
  /** The login was removed, and its tokens were revoked. */
  | { readonly kind: 'revoked' }
  /** The login was removed, but its tokens stay valid until they expire, for this `reason`. */
  | { readonly kind: 'forgotten'; readonly reason: string };

/**
 * The stored logins, sorted by server URL.
 *
 * @throws the store cannot be read
 */
export async function logins(store: CredentialStore): Promise<readonly Login[]> {
  const servers = (await store.keys()).map(loggedInAt).filter((server) => server !== undefined);
  const found = await Promise.all(
    servers.map(async (server) => {
      const grant = await new Grants(store, new URL(server)).read();
      return grant ? [loginOf(server, grant)] : [];
    }),
  );
  return found.flat().toSorted((one, other) => (one.server < other.server ? -1 : 1));
}

function loginOf(server: string, grant: Grant): Login {
  const { issuer, client, scope, expiresAt, refreshToken } = grant;
  return {
    server,
    issuer,
    clientId: client.client_id,
    scope,
    expiresAt,
    isRenewable: refreshToken !== undefined,
  };
}

/**
 * Ends the login at a server: revokes its tokens if the authorization server supports it, and
 * removes them in any case. Open connections keep their access token until it expires.
 *
 * @throws the store cannot be read or written
 * @see RFC 7009
 */
export async function logOut(
  server: string | URL,
  { store, signal }: { readonly store: CredentialStore; readonly signal?: AbortSignal },
): Promise<LogoutOutcome> {
  const url = new URL(server);
  const grants = new Grants(store, url);
  // A concurrent refresh would otherwise write a newer grant.
  const grant = await grants.exclusive(
    'refresh',
    async () => {
      const kept = await grants.read();
      if (kept) await grants.forget(kept);
      return kept;
    },
    signal,
  );
  return grant ? await revoke(url, grant, signal) : { kind: 'none' };
}

async function revoke(
  server: URL,
  grant: Grant,
  signal: AbortSignal | undefined,
): Promise<LogoutOutcome> {
  const official = await loadOfficial();
  const { client, accessToken, refreshToken, issuer } = grant;
  try {
    const fetchFn = guardedFetch(server, signal);
    const metadata = await official.discoverAuthorizationServerMetadata(issuer, { fetchFn });
    const endpoint = otherEndpoint(metadata, 'revocation_endpoint');
    if (metadata?.issuer !== issuer || endpoint === undefined) {
      return { kind: 'forgotten', reason: `${issuer} does not revoke tokens` };
    }
    assertTrusted(new URL(endpoint), server, 'The revocation endpoint');
    const tokens = { refresh_token: refreshToken, access_token: accessToken };
    for (const [hint, token] of Object.entries(tokens)) {
      if (token === undefined) continue;
      const body = new URLSearchParams({ token, token_type_hint: hint });
      const { status } = await fetchFn(endpoint, { method: 'POST', ...identified(client, body) });
      if (status !== 200) return { kind: 'forgotten', reason: `${issuer} answered HTTP ${status}` };
    }
    return { kind: 'revoked' };
  } catch (error) {
    signal?.throwIfAborted();
    const { refusal } = refusalFrom(error, official, [accessToken, refreshToken]);
    return { kind: 'forgotten', reason: refusal.error.message };
  }
}

function identified(client: Grant['client'], body: URLSearchParams) {
  const { client_id: id, client_secret: secret } = client;
  if (secret !== undefined)
    return { body, headers: { authorization: basicCredentials(id, secret) } };
  body.set('client_id', id);
  return { body };
}
