/**
 * Device login: shows a code for the person to enter on another device, and polls for the token.
 * Discovery and token requests use the official client.
 *
 * @see RFC 8628
 */
import { createActor, waitFor } from 'xstate';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { basicCredentials } from '../../../../src/protocol/oauth.ts';
import { printable } from '../../../../src/protocol/printable.ts';
import type { LoginInput } from './authorization.machine.ts';
import type { DevicePrompt } from '../channel/connection-ports.ts';
import { deviceLoginMachine } from './device-login.machine.ts';
import type { DeviceAnswer, DevicePort } from './device-login.machine.ts';
import {
  assertIssuer,
  assertNamed,
  discover,
  issuerOf,
  otherEndpoint,
  scopeFor,
} from './discovery.ts';
import type { Discovered } from './discovery.ts';
import { grantFrom, knownClient } from './grants.ts';
import type { GivenTokens, Grant, KnownClient } from './grants.ts';
import { assertTrusted, guardedFetch } from './guarded-fetch.ts';
import type { Fetch } from './guarded-fetch.ts';
import { refusalFrom, refusedAuthorization } from './sdk-auth.ts';
import type { PersonAuth } from './options.ts';
import { clientMetadataOf, keptClient, ownClient } from './person-login.ts';
import type { LoginScope } from './person-login.ts';
import { requestToken } from './token-request.ts';

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Default polling interval, seconds (section 3.2). */
const usualInterval = 5;
/** Accepted polling intervals and code lifetimes, ms. */
const bounds = { intervalMs: [1000, 60_000], expiresInMs: [1000, 60 * 60_000] } as const;
/** Longest code a person can be expected to enter, characters. */
const maxUserCode = 100;

/** @throws {RefusedAuthorization} no grant was obtained; carries the reason */
export async function logInDevice(
  scope: LoginScope<PersonAuth>,
  wanted: LoginInput,
): Promise<Grant> {
  let login: DeviceLogin | undefined;
  try {
    const fetchFn = guardedFetch(scope.server, scope.signal);
    const found = await discover(scope, wanted.resourceMetadataUrl, fetchFn);
    login = new DeviceLogin(scope, wanted, found, fetchFn);
    const { url, device, intervalMs } = await login.begin();
    wanted.authorization.send({ type: 'login.asked', url, device });
    scope.options.ask?.({ server: scope.server.href, url, device });
    const grant = await login.granted(intervalMs, device.expiresInMs);
    wanted.authorization.send({ type: 'login.answered' });
    return grant;
  } catch (error) {
    throw refusalFrom(error, scope.official, login?.secrets ?? [scope.options.clientSecret]);
  }
}

class DeviceLogin implements DevicePort {
  readonly #scope: LoginScope<PersonAuth>;
  readonly #wanted: LoginInput;
  readonly #found: Discovered;
  readonly #issuer: string;
  readonly #fetch: Fetch;
  #client: KnownClient = { client_id: '' };
  /** Requested scopes. */
  #asked: string | undefined;
  #deviceCode = '';
  #tokens: GivenTokens | undefined;

  constructor(
    scope: LoginScope<PersonAuth>,
    wanted: LoginInput,
    found: Discovered,
    fetchFn: Fetch,
  ) {
    this.#scope = scope;
    this.#wanted = wanted;
    this.#found = found;
    this.#issuer = issuerOf(found);
    this.#fetch = fetchFn;
  }

  /** Secrets to redact from errors. */
  get secrets(): readonly (string | undefined)[] {
    return [this.#scope.options.clientSecret, this.#client.client_secret, this.#deviceCode];
  }

  /** Requests the code that the person must enter. */
  async begin(): Promise<{ url: string; device: DevicePrompt; intervalMs: number }> {
    const { options, grants } = this.#scope;
    assertNamed(this.#found);
    const endpoint = this.#endpoint();
    await assertIssuer(this.#issuer, options, grants);
    this.#client = await this.#clientThere();
    const resource = this.#found.resourceMetadata?.resource;
    this.#asked = scopeFor(this.#wanted, this.#found, options);
    const body = new URLSearchParams({
      ...(this.#asked === undefined ? {} : { scope: this.#asked }),
      ...(resource === undefined ? {} : { resource }),
    });
    return this.#promptIn(await this.#post(endpoint, body), endpoint);
  }

  /** Polls until the person has approved. */
  async granted(intervalMs: number, expiresInMs: number): Promise<Grant> {
    const { signal, clock } = this.#scope;
    const input = { port: this, intervalMs, expiresInMs };
    const actor = createActor(deviceLoginMachine, { input, clock });
    actor.start();
    try {
      const { value, context } = await waitFor(actor, ({ status }) => status === 'done', {
        signal,
      });
      if (value === 'refused') throw context.refusal;
    } finally {
      actor.stop();
    }
    if (!this.#tokens) {
      const seconds = Math.round(expiresInMs / 1000);
      throw refusedAuthorization(
        'unanswered',
        `The code expired: the login was not approved within ${seconds} s`,
      );
    }
    return grantFrom(this.#tokens, this.#asked, {
      issuer: this.#issuer,
      client: keptClient(this.#client, this.#scope.options),
      resource: this.#found.resourceMetadata?.resource,
    });
  }

  async ask(): Promise<DeviceAnswer> {
    const { official } = this.#scope;
    try {
      this.#tokens = await requestToken(
        { official, found: this.#found, fetchFn: this.#fetch },
        {
          client: this.#client,
          params: { grant_type: deviceGrant, device_code: this.#deviceCode },
        },
      );
      return 'granted';
    } catch (error) {
      return this.#answerIn(error);
    }
  }

  /** @throws {RefusedAuthorization} no token will be issued */
  #answerIn(error: unknown): DeviceAnswer {
    const { official } = this.#scope;
    // The official client's error table lacks the codes of RFC 8628.
    const { code } = error as { readonly code?: unknown };
    if (code === 'authorization_pending') return 'pending';
    if (code === 'slow_down') return 'slow down';
    if (code === 'expired_token') return 'expired';
    const refusal = refusalFrom(error, official, this.secrets);
    if (refusal.refusal.kind === 'unreachable') return 'unreachable';
    if (code !== 'access_denied') throw refusal;
    throw refusedAuthorization('declined', 'The login was declined on the other device');
  }

  /** @throws {RefusedAuthorization} the authorization server does not support device logins */
  #endpoint(): URL {
    const { authorizationServerMetadata: metadata } = this.#found;
    const endpoint = otherEndpoint(metadata, 'device_authorization_endpoint');
    if (endpoint === undefined) {
      throw refusedAuthorization(
        'unsafe',
        `The authorization server ${this.#issuer} does not support device logins (RFC 8628): log in with a browser`,
      );
    }
    return new URL(endpoint);
  }

  async #clientThere(): Promise<KnownClient> {
    const { options, grants, official } = this.#scope;
    const own = ownClient(options);
    if (own) return own;
    const issuer = this.#issuer;
    const metadata = this.#found.authorizationServerMetadata;
    if (
      options.clientMetadataUrl !== undefined &&
      metadata?.client_id_metadata_document_supported
    ) {
      return { client_id: options.clientMetadataUrl };
    }
    const kept =
      this.#wanted.client === 'unknown' ? undefined : await grants.client(issuer, 'device');
    if (kept) return kept;
    if (metadata?.registration_endpoint === undefined) {
      throw refusedAuthorization(
        'declined',
        `The authorization server ${issuer} does not support dynamic client registration: register a client there and set "clientId"`,
      );
    }
    // Unused, but the official client requires one in the response, and some servers in the
    // request.
    const redirectUri = 'http://127.0.0.1/callback';
    const information = await official.registerClient(this.#found.authorizationServerUrl, {
      metadata,
      clientMetadata: clientMetadataOf(options, {
        redirect_uris: [redirectUri],
        grant_types: [deviceGrant, 'refresh_token'],
        response_types: [],
      }),
      fetchFn: this.#fetch,
    });
    const client = knownClient(information as KnownClient, redirectUri);
    await grants.writeClient(issuer, client, 'device');
    return client;
  }

  async #post(endpoint: URL, body: URLSearchParams): Promise<JsonObject> {
    const { official } = this.#scope;
    const { client_id: id, client_secret: secret } = this.#client;
    const supported =
      this.#found.authorizationServerMetadata?.token_endpoint_auth_methods_supported;
    const method = official.selectClientAuthMethod(this.#client, supported ?? []);
    const headers = new Headers({ accept: 'application/json' });
    if (secret !== undefined && method === 'client_secret_basic') {
      headers.set('authorization', basicCredentials(id, secret));
    } else {
      body.set('client_id', id);
      if (secret !== undefined) body.set('client_secret', secret);
    }
    const response = await this.#fetch(endpoint, { method: 'POST', headers, body });
    const answer: unknown = await response.json().catch(() => undefined);
    if (response.ok && isJsonObject(answer)) return answer;
    const { error, error_description: said } = isJsonObject(answer) ? answer : {};
    if (typeof error === 'string') {
      throw new official.OAuthError(error, typeof said === 'string' ? said : error);
    }
    throw refusedAuthorization(
      response.status >= 500 ? 'unreachable' : 'unsafe',
      `The authorization server did not issue a device code (HTTP ${response.status})`,
    );
  }

  /**
   * @throws {RefusedAuthorization} the page cannot be trusted, or the code cannot be entered by a
   *   person
   */
  #promptIn(answer: JsonObject, endpoint: URL) {
    const { device_code: deviceCode, user_code: userCode, interval = usualInterval } = answer;
    const { verification_uri: uri, verification_uri_complete: complete = uri } = answer;
    const { expires_in: expiresIn } = answer;
    const isCode = (code: unknown, max: number): code is string =>
      typeof code === 'string' && code !== '' && code.length <= max;
    if (
      !isCode(deviceCode, maxUserCode * 100) ||
      !isCode(userCode, maxUserCode) ||
      !isSeconds(expiresIn) ||
      !isSeconds(interval)
    ) {
      throw refusedAuthorization(
        'unsafe',
        `Invalid response from ${endpoint.origin} (RFC 8628): device_code, user_code, expires_in or interval is missing or malformed`,
      );
    }
    this.#deviceCode = deviceCode;
    const [verificationUri, url] = [uri, complete].map((each) => this.#visitable(each));
    const device: DevicePrompt = {
      verificationUri: verificationUri ?? '',
      userCode: printable(userCode),
      expiresInMs: within(bounds.expiresInMs, expiresIn),
    };
    return { url: url ?? '', device, intervalMs: within(bounds.intervalMs, interval) };
  }

  #visitable(given: unknown): string {
    if (typeof given !== 'string' || !URL.canParse(given)) {
      throw refusedAuthorization(
        'unsafe',
        '"verification_uri" of the authorization server must be a URL',
      );
    }
    const url = new URL(given);
    assertTrusted(url, this.#scope.server, 'The verification page');
    return url.href;
  }
}

const isSeconds = (value: unknown): value is number => typeof value === 'number' && value >= 0;

const within = ([least, most]: readonly [number, number], seconds: number): number =>
  Math.min(most, Math.max(least, seconds * 1000));
