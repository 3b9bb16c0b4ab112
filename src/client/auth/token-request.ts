/** A request for a token that sends nobody anywhere: of a host itself, or of a device with its code. */
import type { Discovered } from './discovery.ts';
import type { GivenTokens, KnownClient } from './grants.ts';
import type { Fetch } from './guarded-fetch.ts';
import type { Official } from './official-client.ts';

/** What a token is asked for with. */
interface TokenRequest {
  readonly client: KnownClient;
  /** The grant type, and what belongs to it. */
  readonly params: Readonly<Record<string, string>>;
  /** Shows who the client is, instead of its secret. */
  readonly addClientAuthentication?: ReturnType<Official['createPrivateKeyJwtAuth']> | undefined;
}

const none = (): never => {
  throw new Error('Nobody is sent anywhere for this token');
};

/** @throws the official client's error */
export async function requestToken(
  { official, found, fetchFn }: { official: Official; found: Discovered; fetchFn: Fetch },
  { client, params, addClientAuthentication }: TokenRequest,
): Promise<GivenTokens> {
  const provider = {
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => client,
    tokens: () => undefined,
    saveTokens: none,
    redirectToAuthorization: none,
    saveCodeVerifier: none,
    codeVerifier: none,
    prepareTokenRequest: () => new URLSearchParams(params),
    addClientAuthentication,
  };
  return await official.fetchToken(provider, found.authorizationServerUrl, {
    metadata: found.authorizationServerMetadata,
    fetchFn,
    resource: found.resourceMetadata?.resource,
  });
}
