/**
 * A person's login, from the server's challenge to a grant. The official client handles discovery,
 * registration and the authorization URL.
 */
import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { isLoopback } from '../../../../src/protocol/oauth.ts';
import type { LoginInput } from './authorization.machine.ts';
import { listenForCallback } from './callback.ts';
import {
  assertIssuer,
  assertItsOwn,
  assertProtectsCodes,
  issuerOf,
  metadataFetch,
} from './discovery.ts';
import type { Discovered } from './discovery.ts';
import { grantFrom, knownClient } from './grants.ts';
import type { Grant, Grants, KnownClient } from './grants.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { refusalFrom, refusedAuthorization } from './sdk-auth.ts';
import type { SdkAuth } from './sdk-auth.ts';
import type { PersonAuth } from './options.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import { unlessAborted } from '../../../../src/actors/wait-for.ts';
import { spawn } from 'node:child_process';

/** Dependencies of a login. */
export interface LoginScope<TOptions> {
  readonly official: SdkAuth;
  readonly server: URL;
  readonly options: TOptions;
  readonly grants: Grants;
  /** Stores the grant and uses it from now on. */
  readonly keep: (grant: Grant) => Promise<void>;
  /** Uses an already stored grant. */
  readonly use: (grant: Grant) => void;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** The client configured by the host. */
export function ownClient({ clientId, clientSecret }: PersonAuth): KnownClient | undefined {
  if (clientId === undefined) return undefined;
  return { client_id: clientId, client_secret: clientSecret };
}

/** The client as stored with a grant: without the configured secret. */
export function keptClient(client: KnownClient, { clientId }: PersonAuth): KnownClient {
  return clientId === undefined ? client : { client_id: clientId };
}

/** Client metadata for registration. */
export function clientMetadataOf<T extends object>(
  { clientName = 'mcp-actors', scope }: PersonAuth,
  flow: T,
) {
  return {
    client_name: clientName,
    token_endpoint_auth_method: 'none',
    ...flow,
    scope,
  };
}

/** Round trip of a person to the authorization server. */
interface Visit {
  readonly redirectUrl: string;
  /**
   * Starts waiting for a redirect with this state. The returned function shows the person a URL and
   * resolves to the URL that they were redirected to.
   */
  readonly begin: (state: string) => (url: URL) => Promise<URL>;
  readonly end: () => void;
}

/** @throws {RefusedAuthorization} no grant was obtained; carries the reason */
export async function logInPerson(
  scope: LoginScope<PersonAuth>,
  wanted: LoginInput,
): Promise<Grant> {
  const visit = await openVisit(scope);
  const login = new PersonLogin(scope, wanted, visit.redirectUrl);
  try {
    const url = await login.ask();
    const make = visit.begin(login.state());
    wanted.authorization.send({ type: 'login.asked', url: url.href });
    scope.options.ask?.({ server: scope.server.href, url: url.href });
    const landed = await make(url);
    const code = login.codeIn(landed);
    wanted.authorization.send({ type: 'login.answered' });
    return await login.exchange(code);
  } catch (error) {
    throw refusalFrom(error, scope.official, login.secrets);
  } finally {
    visit.end();
  }
}

async function openVisit({ options, grants, signal }: LoginScope<PersonAuth>): Promise<Visit> {
  const { visit, redirectUrl } = options;
  if (visit) {
    return {
      redirectUrl: redirectUrl ?? 'http://localhost/callback',
      begin: () => async (url) => {
        try {
          return new URL(await unlessAborted(visit(url, { signal }), signal));
        } catch (error) {
          throw refusedAuthorization('declined', 'The "visit" function failed', error);
        }
      },
      end: () => {},
    };
  }
  const last = await grants.redirectUrl();
  const port = last === undefined ? undefined : Number(new URL(last).port);
  const callback = await listenForCallback(redirectUrl === undefined ? { port } : { redirectUrl });
  return {
    redirectUrl: callback.redirectUrl,
    begin: (state) => {
      const answer = callback.answer(state, signal);
      return async (url) => {
        // The URL is also emitted as an event: without a browser, a person can open it elsewhere.
        openBrowser(url).catch(() => {});
        return await answer;
      };
    },
    end: () => callback.close(),
  };
}

/** The official client's provider for one login. */
class PersonLogin implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadataUrl?: string;
  readonly #scope: LoginScope<PersonAuth>;
  readonly #wanted: LoginInput;
  readonly #fetch: ReturnType<typeof guardedFetch>;
  readonly #state = randomBytes(32).toString('base64url');
  #found: Discovered | undefined;
  #client: KnownClient | undefined;
  #verifier = '';
  #url: URL | undefined;
  #code: string | undefined;
  #iss: string | undefined;

  constructor(scope: LoginScope<PersonAuth>, wanted: LoginInput, redirectUrl: string) {
    this.#scope = scope;
    this.#wanted = wanted;
    this.#fetch = guardedFetch(scope.server, scope.signal);
    this.redirectUrl = redirectUrl;
    const { clientMetadataUrl } = scope.options;
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
  }

  /** Secrets to redact from errors. */
  get secrets(): readonly (string | undefined)[] {
    const { clientSecret } = this.#scope.options;
    return [clientSecret, this.#client?.client_secret, this.#verifier, this.#code, this.#state];
  }

  get clientMetadata() {
    return clientMetadataOf(this.#scope.options, {
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
  }

  /** Prepares the login, and returns the URL that the person must open. */
  async ask(): Promise<URL> {
    const { official, server } = this.#scope;
    const { scope, resourceMetadataUrl } = this.#wanted;
    await official.auth(this, {
      serverUrl: server,
      fetchFn: metadataFetch(this.#fetch),
      scope,
      resourceMetadataUrl:
        resourceMetadataUrl === undefined ? undefined : new URL(resourceMetadataUrl),
    });
    if (!this.#url) throw new Error('The official client returned no authorization URL');
    return this.#url;
  }

  /**
   * @throws {RefusedAuthorization} the redirect belongs to another login, or the login was declined
   */
  codeIn(landed: URL): string {
    const redirect = new URL(this.redirectUrl);
    const { searchParams } = landed;
    if (landed.origin !== redirect.origin || landed.pathname !== redirect.pathname) {
      throw refusedAuthorization(
        'unsafe',
        `The redirect must go to ${this.redirectUrl}, got ${landed.origin}${landed.pathname}`,
      );
    }
    if (searchParams.get('state') !== this.#state) {
      throw refusedAuthorization(
        'unsafe',
        'The redirect belongs to another login: its "state" does not match',
      );
    }
    // The issuer must be checked before the rest of the response is trusted (RFC 9207).
    const metadata = this.#discovered().authorizationServerMetadata;
    this.#iss = searchParams.get('iss') ?? undefined;
    this.#scope.official.validateAuthorizationResponseIssuer({
      iss: this.#iss,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
    });
    const error = searchParams.get('error');
    if (error !== null) {
      const description = searchParams.get('error_description') ?? error;
      throw new this.#scope.official.OAuthError(error, description);
    }
    this.#code = searchParams.get('code') ?? undefined;
    if (!this.#code)
      throw refusedAuthorization('unsafe', 'The authorization server returned no code');
    return this.#code;
  }

  async exchange(code: string): Promise<Grant> {
    const { official } = this.#scope;
    const found = this.#discovered();
    if (!this.#client) throw new Error('Client registration returned no client');
    const resource = found.resourceMetadata?.resource;
    const issuer = issuerOf(found);
    try {
      const tokens = await official.exchangeAuthorization(found.authorizationServerUrl, {
        metadata: found.authorizationServerMetadata,
        clientInformation: this.#client,
        authorizationCode: code,
        iss: this.#iss,
        codeVerifier: this.#verifier,
        redirectUri: this.redirectUrl,
        fetchFn: this.#fetch,
        resource,
      });
      const asked = this.#url?.searchParams.get('scope') ?? undefined;
      return grantFrom(tokens, asked, {
        issuer,
        client: keptClient(this.#client, this.#scope.options),
        resource,
      });
    } catch (error) {
      // The person is not redirected there again automatically.
      const { refusal } = refusalFrom(error, official, this.secrets);
      throw refusedAuthorization('unanswered', refusal.error.message);
    }
  }

  state(): string {
    return this.#state;
  }

  async saveDiscoveryState(found: Discovered): Promise<void> {
    const { server, official, options, grants } = this.#scope;
    assertItsOwn(found, server, official);
    assertProtectsCodes(found);
    this.#found = found;
    await assertIssuer(issuerOf(found), options, grants);
  }

  async clientInformation(context?: { readonly issuer: string }) {
    const { options, grants } = this.#scope;
    const issuer = context?.issuer ?? '';
    const own = ownClient(options);
    if (own) {
      this.#client = own;
      // Given an issuer, the official client does not store it.
      return { ...own, issuer };
    }
    if (this.#wanted.client === 'unknown') return undefined;
    const kept = await grants.client(issuer);
    // The authorization server would reject a redirect URL that was not registered.
    if (!kept?.redirect_uris?.includes(this.redirectUrl)) return undefined;
    this.#client = kept;
    return { ...kept, issuer };
  }

  async saveClientInformation(information: KnownClient, context?: { readonly issuer: string }) {
    this.#client = knownClient(information, this.redirectUrl);
    await this.#scope.grants.writeClient(context?.issuer ?? '', this.#client);
  }

  redirectToAuthorization(url: URL): void {
    this.#url = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  /** A login obtains new tokens; refreshes happen elsewhere, under a lock. */
  tokens(): undefined {
    return undefined;
  }

  saveTokens(): never {
    throw new RuntimeError(
      'UNAUTHORIZED',
      'The official client returned tokens before the code exchange',
    );
  }

  #discovered(): Discovered {
    if (!this.#found) throw new Error('The official client reported no discovery result');
    return this.#found;
  }
}

/** Command and arguments to open a URL. No shell is involved. */
export function browserCommand(
  url: URL,
  environment: { readonly [name: string]: string | undefined } = process.env,
  platform: NodeJS.Platform = process.platform,
): readonly [command: string, ...args: string[]] {
  if (environment['BROWSER']) return [environment['BROWSER'], url.href];
  if (platform === 'darwin') return ['open', url.href];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url.href];
  return ['xdg-open', url.href];
}

/**
 * Opens the system's browser, or the program in `BROWSER`. Resolves once it has started.
 *
 * @throws {TypeError} the URL is neither https nor http on loopback
 * @throws {Error} the program does not exist
 */
export async function openBrowser(url: URL): Promise<void> {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url))) {
    throw new TypeError(
      `The URL to open must be https:// (or http:// on loopback), got ${url.protocol}//${url.host}`,
    );
  }
  const [command, ...args] = browserCommand(url);
  const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
}
