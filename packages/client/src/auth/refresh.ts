/**
 * Refreshes a grant, once for all connections with the same store.
 *
 * A refresh token may be single-use, so a connection takes the lock and first checks whether
 * another one has refreshed the grant meanwhile. A failure deletes nothing: the response may have
 * been lost, and the next attempt will tell. The grant is dropped only if the authorization server
 * rejects the stored token.
 */
import type { TokenDemand, RefreshOutcome } from './authorization.machine.ts';
import { discover, issuerOf } from './discovery.ts';
import type { Discovered } from './discovery.ts';
import { grantFrom } from './grants.ts';
import type { Grant } from './grants.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { refusalFrom, refusedAuthorization } from './sdk-auth.ts';
import type { PersonAuth } from './options.ts';
import type { LoginScope } from './person-login.ts';

/** Dependencies of a refresh. */
type RenewalScope = LoginScope<Pick<PersonAuth, 'clientId' | 'clientSecret'>>;

const spent = (client: 'known' | 'unknown'): RefreshOutcome => ({ kind: 'spent', client });

/**
 * @param useless the rejected access token; a different one in the store is newer and is used
 *   instead
 * @throws {RefusedAuthorization} the refresh failed for now; the grant is kept
 */
export async function renewGrant(
  scope: RenewalScope,
  demand: TokenDemand,
  useless: string | undefined,
): Promise<RefreshOutcome> {
  const { grants, signal, use } = scope;
  return await grants.exclusive(
    'refresh',
    async () => {
      const kept = await grants.read();
      if (!kept) return spent('known');
      if (kept.accessToken !== useless) {
        use(kept);
        return { kind: 'renewed' };
      }
      if (kept.refreshToken === undefined) return spent('known');
      return await renew(scope, demand, kept, kept.refreshToken);
    },
    signal,
  );
}

async function renew(
  scope: RenewalScope,
  demand: TokenDemand,
  kept: Grant,
  refreshToken: string,
): Promise<RefreshOutcome> {
  const { official, options, server } = scope;
  try {
    // The request is not aborted with the connection: a single-use refresh token would be lost with
    // its response.
    const fetchFn = guardedFetch(server);
    const found = await discover(scope, demand.resourceMetadataUrl, fetchFn);
    assertFoundAgain(found, kept);
    // The server now names an authorization server that did not issue this token.
    if (issuerOf(found) !== kept.issuer) return spent('known');
    const tokens = await official.refreshAuthorization(found.authorizationServerUrl, {
      metadata: found.authorizationServerMetadata,
      clientInformation: clientOf(kept, options),
      refreshToken,
      fetchFn,
      resource: kept.resource,
    });
    await scope.keep(grantFrom(tokens, kept.scope, kept));
    return { kind: 'renewed' };
  } catch (error) {
    return await afterFailure(scope, kept, error);
  }
}

/** The official client treats unreadable resource metadata as missing. */
function assertFoundAgain(found: Discovered, kept: Grant): void {
  if (kept.resource === undefined || found.resourceMetadata) return;
  throw refusedAuthorization('unreachable', `The metadata of ${kept.resource} are unavailable`);
}

async function afterFailure(
  { official, options, grants, use }: RenewalScope,
  kept: Grant,
  error: unknown,
): Promise<RefreshOutcome> {
  const { code } = error as { readonly code?: unknown };
  const { InvalidClient, InvalidGrant, UnauthorizedClient } = official.OAuthErrorCode;
  if (code === InvalidClient || code === UnauthorizedClient) return spent('unknown');
  if (code === InvalidGrant) {
    const now = await grants.read();
    if (now && now.refreshToken !== kept.refreshToken) {
      use(now);
      return { kind: 'renewed' };
    }
    await grants.remove(kept);
    return spent('known');
  }
  const secrets = [kept.accessToken, kept.refreshToken, kept.client.client_secret];
  const refusal = refusalFrom(error, official, [...secrets, options.clientSecret]);
  throw refusal;
}

/** The client, with its secret if the host configured it. */
function clientOf({ client }: Grant, { clientId, clientSecret }: RenewalScope['options']) {
  return clientId === client.client_id ? { ...client, client_secret: clientSecret } : client;
}
