/** Token requests without a redirect: client credentials and device codes. */
import type { Discovered } from './discovery.ts';
import type { GivenTokens, KnownClient } from './grants.ts';
import type { Fetch } from './guarded-fetch.ts';
import type { SdkAuth } from './sdk-auth.ts';

interface TokenRequest {
  readonly client: KnownClient;
  /** Grant type and its parameters. */
  readonly params: Readonly<Record<string, string>>;
  /** Authenticates the client instead of a secret. */
  readonly addClientAuthentication?: ReturnType<SdkAuth['createPrivateKeyJwtAuth']> | undefined;
}

const none = (): never => {
  throw new Error('A token request without a redirect must not need this callback');
};

/** @throws the official client's error */
export async function requestToken(
  { official, found, fetchFn }: { official: SdkAuth; found: Discovered; fetchFn: Fetch },
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
