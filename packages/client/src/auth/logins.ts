/** The logins that a store has: what a person may see of them, and how one is ended. */
import { basicCredentials } from '../../../../src/protocol/oauth.ts';
import type { CredentialStore } from './credential-store.ts';
import { otherEndpoint } from './discovery.ts';
import { Grants, loggedInAt } from './grants.ts';
import type { Grant } from './grants.ts';
import { assertTrusted, guardedFetch } from './guarded-fetch.ts';
import { loadOfficial, refusalFrom } from './sdk-auth.ts';

/** A login that a store has. No token is in it. */
export interface Login {
  /** The URL of the server that it is for. */
  readonly server: string;
  /** The authorization server that has issued its tokens. */
  readonly issuer: string;
  /** The client that they were issued to. */
  readonly clientId: string;
  /** The scopes, separated by spaces; undefined if none were asked for or named. */
  readonly scope?: string | undefined;
  /** When its access token expires, milliseconds since 1970; undefined if its issuer does not say. */
  readonly expiresAt?: number | undefined;
  /** Whether it is renewed without a person. */
  readonly isRenewable: boolean;
}

/** How a login was ended. */
export type LogoutOutcome =
  /** There was none. */
  | { readonly kind: 'none' }
  /** It is forgotten here, and its authorization server has been told that its tokens are void. */
  | { readonly kind: 'revoked' }
  /** It is forgotten here alone: `reason` says why its tokens are valid until they expire. */
  | { readonly kind: 'forgotten'; readonly reason: string };

/**
 * The logins of a store, by the URLs of their servers.
 *
 * @throws if the store cannot be read
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
 * Ends the login at a server: its tokens are revoked if the authorization server can do that, and
 * forgotten in any case. Connections that are open keep theirs until it expires.
 *
 * @throws if the store cannot be read or written
 * @see RFC 7009
 */
export async function logOut(
  server: string | URL,
  { store, signal }: { readonly store: CredentialStore; readonly signal?: AbortSignal },
): Promise<LogoutOutcome> {
  const url = new URL(server);
  const grants = new Grants(store, url);
  // A renewal that is under way would write a newer grant.
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
