/**
 * Login of the client as itself, without a person.
 *
 * @see RFC 6749, section 4.4; RFC 7523, section 2.2
 */
import type { LoginInput } from './authorization.machine.ts';
import { assertIssuer, assertNamed, discover, issuerOf, scopeFor } from './discovery.ts';
import { grantFrom } from './grants.ts';
import type { Grant } from './grants.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { refusalFrom } from './sdk-auth.ts';
import type { ClientCredentialsAuth } from './options.ts';
import type { LoginScope } from './person-login.ts';
import { requestToken } from './token-request.ts';

/** @throws {RefusedAuthorization} no grant was obtained; carries the reason */
export async function logInClient(
  scope: LoginScope<ClientCredentialsAuth>,
  wanted: LoginInput,
): Promise<Grant> {
  const { official, options } = scope;
  try {
    return await logIn(scope, wanted);
  } catch (error) {
    throw refusalFrom(error, official, [options.clientSecret, options.privateKey]);
  }
}

async function logIn(
  { official, server, options, grants, signal }: LoginScope<ClientCredentialsAuth>,
  wanted: LoginInput,
): Promise<Grant> {
  const fetchFn = guardedFetch(server, signal);
  const found = await discover({ official, server }, wanted.resourceMetadataUrl, fetchFn);
  // Without this check the MCP server itself would count as the issuer and receive the secret.
  if (options.issuer === undefined) assertNamed(found);
  const issuer = issuerOf(found);
  await assertIssuer(issuer, options, grants);
  const asked = scopeFor(wanted, found, options);
  const { clientId, clientSecret, privateKey, algorithm = 'ES256' } = options;
  const tokens = await requestToken(
    { official, found, fetchFn },
    {
      client: { client_id: clientId, client_secret: clientSecret },
      params: { grant_type: 'client_credentials', ...(asked ? { scope: asked } : {}) },
      addClientAuthentication:
        privateKey === undefined
          ? undefined
          : official.createPrivateKeyJwtAuth({
              issuer: clientId,
              subject: clientId,
              privateKey,
              alg: algorithm,
            }),
    },
  );
  const grant = grantFrom(tokens, asked, { issuer, client: { client_id: clientId } });
  return { ...grant, refreshToken: undefined };
}
