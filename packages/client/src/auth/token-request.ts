/** Asks for a token without sending a person anywhere: for a host that logs in by itself, or a device that has its code. */
import type { Discovered } from './discovery.ts';
import type { GivenTokens, KnownClient } from './grants.ts';
import type { Fetch } from './guarded-fetch.ts';
import type { SdkAuth } from './sdk-auth.ts';

/** What a request for a token consists of. */
interface TokenRequest {
  readonly client: KnownClient;
  /** The grant type, and what belongs to it. */
  readonly params: Readonly<Record<string, string>>;
  /** Authenticates the client in place of a secret. */
  readonly addClientAuthentication?: ReturnType<SdkAuth['createPrivateKeyJwtAuth']> | undefined;
}

const none = (): never => {
  throw new Error('Nobody is sent anywhere for this token');
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
