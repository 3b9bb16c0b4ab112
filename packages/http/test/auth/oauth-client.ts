/** OAuth state of an official client whose user approves everything at once. */
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/client';

const redirectUrl = 'http://127.0.0.1:1/callback';

type Kept<T extends keyof OAuthClientProvider> = Awaited<
  ReturnType<Extract<NonNullable<OAuthClientProvider[T]>, () => unknown>>
>;

export class AutoApprovingClient implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata = {
    redirect_uris: [redirectUrl],
    client_name: 'client',
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  };
  /** Scopes requested, one entry per authorization. */
  readonly asked: (string | null)[] = [];
  /** Parameters of the last redirect. */
  callback = new URLSearchParams();
  #client: Kept<'clientInformation'>;
  #tokens: Kept<'tokens'>;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = '';

  clientInformation() {
    return this.#client;
  }

  saveClientInformation(client: NonNullable<Kept<'clientInformation'>>): void {
    this.#client = client;
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(tokens: NonNullable<Kept<'tokens'>>): void {
    this.#tokens = tokens;
  }

  /** Replaces the access token. */
  present(accessToken: string): void {
    if (this.#tokens) this.#tokens = { ...this.#tokens, access_token: accessToken };
  }

  /** Drops the refresh token, so that a new login is required. */
  forgetRefreshToken(): void {
    if (this.#tokens) this.#tokens = { ...this.#tokens, refresh_token: undefined };
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState() {
    return this.#discovered;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.asked.push(url.searchParams.get('scope'));
    const response = await fetch(url, { redirect: 'manual' });
    const location = response.headers.get('location');
    if (location === null) throw new Error(`It was not agreed to: ${await response.text()}`);
    this.callback = new URL(location).searchParams;
  }
}
