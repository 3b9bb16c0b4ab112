/**
 * A host that logs in as itself, without a person or a code.
 *
 * @see RFC 6749, section 4.4; RFC 7523, section 2.2
 */
import type { LoginInput } from '../../machines/authorization.machine.ts';
import { assertIssuer, discover, issuerOf } from './discovery.ts';
import { grantFrom } from './grants.ts';
import type { Grant } from './grants.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { refusalFrom } from './official-client.ts';
import type { ClientCredentialsAuth } from './options.ts';
import type { LoginScope } from './person-login.ts';

/** @throws {RefusedAuthorization} if there is no grant, with the reason */
export async function logInClient(
  scope: LoginScope<ClientCredentialsAuth>,
  wanted: LoginInput,
): Promise<Grant> {
  const { official, options, signal } = scope;
  try {
    return await logIn(scope, wanted);
  } catch (error) {
    signal.throwIfAborted();
    throw refusalFrom(error, official, [options.clientSecret, options.privateKey]);
  }
}

async function logIn(
  { official, server, options, grants, signal }: LoginScope<ClientCredentialsAuth>,
  { scope, resourceMetadataUrl }: LoginInput,
): Promise<Grant> {
  const fetchFn = guardedFetch(server, signal);
  const found = await discover({ official, server }, resourceMetadataUrl, fetchFn);
  const issuer = issuerOf(found);
  assertIssuer(issuer, options.issuer ?? (await grants.pinnedIssuer(options.clientId, issuer)));
  const metadata = found.authorizationServerMetadata;
  const resource = found.resourceMetadata?.resource;
  const asked = scope ?? found.resourceMetadata?.scopes_supported?.join(' ') ?? options.scope;
  const tokens = await official.fetchToken(
    { ...providerFor(options, official), clientInformation: () => ({ ...known(options), issuer }) },
    found.authorizationServerUrl,
    {
      metadata,
      fetchFn,
      ...(resource === undefined ? {} : { resource }),
      ...(asked ? { scope: asked } : {}),
    },
  );
  const client = { client_id: options.clientId };
  return { ...grantFrom(tokens, asked, { issuer, client, resource }), refreshToken: undefined };
}

const known = ({ clientId, clientSecret }: ClientCredentialsAuth) => ({
  client_id: clientId,
  ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
});

/** What the official client needs of a host that is its own user. */
function providerFor(
  { clientId, privateKey, algorithm = 'ES256' }: ClientCredentialsAuth,
  official: Parameters<typeof logInClient>[0]['official'],
) {
  const none = (): never => {
    throw new Error('A host that logs in for itself has no such thing');
  };
  return {
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [], grant_types: ['client_credentials'] },
    tokens: () => undefined,
    saveTokens: none,
    redirectToAuthorization: none,
    saveCodeVerifier: none,
    codeVerifier: none,
    prepareTokenRequest: (scope?: string) =>
      new URLSearchParams({ grant_type: 'client_credentials', ...(scope ? { scope } : {}) }),
    ...(privateKey === undefined
      ? {}
      : {
          addClientAuthentication: official.createPrivateKeyJwtAuth({
            issuer: clientId,
            subject: clientId,
            privateKey,
            alg: algorithm,
          }),
        }),
  };
}
