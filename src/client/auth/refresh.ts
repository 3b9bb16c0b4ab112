/**
 * Renews a grant, once for all who share its store.
 *
 * A refresh token may serve only once. So whoever wants to renew it takes the lock first, and looks
 * whether somebody has done so meanwhile. What fails deletes nothing: the answer may have been lost on
 * its way, and the next attempt tells. Only if the authorization server says that the very token which
 * is kept is not valid, the grant is given up.
 */
import type { Demand, RefreshOutcome } from '../../machines/authorization.machine.ts';
import { assertItsOwn, issuerOf } from './discovery.ts';
import type { Discovered } from './discovery.ts';
import { grantFrom } from './grants.ts';
import type { Grant } from './grants.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { refusalFrom, refused } from './official-client.ts';
import type { Official } from './official-client.ts';
import type { PersonAuth } from './options.ts';
import type { LoginScope } from './person-login.ts';

/** What came of it, and the grant that holds now. */
export type Renewal = RefreshOutcome & { readonly grant?: Grant };

const spent = (client: 'known' | 'unknown'): Renewal => ({ kind: 'spent', client });

/**
 * @param useless the access token that was refused; another one is newer, and good enough
 * @throws {RefusedAuthorization} it could not be renewed now; nothing is lost
 */
export async function renewGrant(
  scope: LoginScope<PersonAuth>,
  demand: Demand,
  useless: string | undefined,
): Promise<Renewal> {
  const { grants, signal } = scope;
  return await grants.exclusive(
    'refresh',
    async () => {
      const kept = await grants.read();
      if (!kept) return spent('known');
      if (kept.accessToken !== useless) return { kind: 'renewed', grant: kept };
      if (kept.refreshToken === undefined) return spent('known');
      return await renew(scope, demand, kept, kept.refreshToken);
    },
    signal,
  );
}

async function renew(
  scope: LoginScope<PersonAuth>,
  demand: Demand,
  kept: Grant,
  refreshToken: string,
): Promise<Renewal> {
  const { official, options, server } = scope;
  try {
    // Once it is asked for, it is waited for: a refresh token may serve only once, and what it gives
    // would be lost with the connection.
    const fetchFn = guardedFetch(server);
    const { resourceMetadataUrl } = demand;
    const found = await official.discoverOAuthServerInfo(server, {
      fetchFn,
      ...(resourceMetadataUrl === undefined
        ? {}
        : { resourceMetadataUrl: new URL(resourceMetadataUrl) }),
    });
    assertItsOwn(found, server, official);
    assertFoundAgain(found, kept);
    // Another authorization server than the one that gave the token: that one has no say any more.
    if (issuerOf(found) !== kept.issuer) return spent('known');
    const tokens = await official.refreshAuthorization(found.authorizationServerUrl, {
      metadata: found.authorizationServerMetadata,
      clientInformation: clientOf(kept, options),
      refreshToken,
      fetchFn,
      ...(kept.resource === undefined ? {} : { resource: kept.resource }),
    });
    const grant = grantFrom(tokens, kept.scope, kept);
    await scope.keep(grant);
    return { kind: 'renewed', grant };
  } catch (error) {
    return await afterFailure(scope, kept, error);
  }
}

/** The official client takes a resource whose metadata cannot be had for one that has none. */
function assertFoundAgain(found: Discovered, kept: Grant): void {
  if (kept.resource === undefined || found.resourceMetadata) return;
  throw refused('unreachable', `The metadata of ${kept.resource} cannot be had now`);
}

async function afterFailure(
  { official, options, grants }: LoginScope<PersonAuth>,
  kept: Grant,
  error: unknown,
): Promise<Renewal> {
  const code = codeOf(error, official);
  const { InvalidClient, InvalidGrant, UnauthorizedClient } = official.OAuthErrorCode;
  if (code === InvalidClient || code === UnauthorizedClient) return spent('unknown');
  if (code === InvalidGrant) {
    const now = await grants.read();
    if (now && now.refreshToken !== kept.refreshToken) return { kind: 'renewed', grant: now };
    await grants.remove(kept);
    return spent('known');
  }
  const secrets = [kept.accessToken, kept.refreshToken, kept.client.client_secret];
  const refusal = refusalFrom(error, official, [...secrets, options.clientSecret]);
  throw refusal;
}

function codeOf(error: unknown, official: Official): string | undefined {
  return error instanceof official.OAuthError ? error.code : undefined;
}

/** With the secret, if it is the host's own. */
function clientOf({ client }: Grant, { clientId, clientSecret }: PersonAuth) {
  const isOwn = clientId === client.client_id && clientSecret !== undefined;
  const { redirect_uris, ...known } = client;
  return {
    ...known,
    ...(redirect_uris ? { redirect_uris: [...redirect_uris] } : {}),
    ...(isOwn ? { client_secret: clientSecret } : {}),
  };
}
