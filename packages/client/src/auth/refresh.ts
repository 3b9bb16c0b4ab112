/**
 * Renews a grant, once for all connections that share its store.
 *
 * A refresh token may work only once, so a connection takes the lock first and checks whether
 * another one has renewed the grant meanwhile. A failure deletes nothing: the answer may have been
 * lost on its way, and the next attempt will show. The grant is given up only if the authorization
 * server rejects the token that is in the store.
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

/** A login, as far as a renewal needs it. */
type RenewalScope = LoginScope<Pick<PersonAuth, 'clientId' | 'clientSecret'>>;

const spent = (client: 'known' | 'unknown'): RefreshOutcome => ({ kind: 'spent', client });

/**
 * @param useless the access token that was refused; a different one in the store is newer and will
 *   do
 * @throws {RefusedAuthorization} it could not be renewed now; the grant is kept
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
    // The request is not aborted: a refresh token may work only once, and its answer would be lost
    // with the connection.
    const fetchFn = guardedFetch(server);
    const found = await discover(scope, demand.resourceMetadataUrl, fetchFn);
    assertFoundAgain(found, kept);
    // The server now names another authorization server, which did not issue this token.
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

/** The official client treats a resource whose metadata cannot be read as one without metadata. */
function assertFoundAgain(found: Discovered, kept: Grant): void {
  if (kept.resource === undefined || found.resourceMetadata) return;
  throw refusedAuthorization('unreachable', `The metadata of ${kept.resource} cannot be had now`);
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

/** The client, with its secret if it is the host's own. */
function clientOf({ client }: Grant, { clientId, clientSecret }: RenewalScope['options']) {
  return clientId === client.client_id ? { ...client, client_secret: clientSecret } : client;
}
