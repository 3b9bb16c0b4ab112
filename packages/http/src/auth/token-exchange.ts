/**
 * Exchanges callers' tokens for tokens of other servers. A caller's own token is sent only to the
 * authorization server that exchanges it.
 *
 * @see RFC 8693; MCP 2026-07-28, basic/authorization, "Access Token Privilege Restriction"
 */
import { BoundedMap } from '../../../../src/protocol/bounded-map.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { basicCredentials } from '../../../../src/protocol/oauth.ts';
import { printable } from '../../../../src/protocol/printable.ts';
import type {
  ExchangedToken,
  Principal,
  TokenExchange,
  WantedToken,
} from '../../../../src/protocol/request-origin.ts';
import { postForm, endpointOf, validateTrustedUrl } from './fetch-json.ts';
import type { FetchBounds, JsonAnswer } from './fetch-json.ts';
import type { TokenExchangeOptions, TokenLimits } from './options.ts';
import type { Time } from './token-check.ts';

const accessToken = 'urn:ietf:params:oauth:token-type:access_token';

/** Lifetime of a client assertion, seconds. */
const assertionSeconds = 60;

/** A cached token, and the end of its reuse in monotonic ms. */
interface CachedToken {
  readonly token: ExchangedToken;
  readonly until: number;
}

export class TokenExchanges {
  readonly #options: TokenExchangeOptions;
  readonly #issuer: string | undefined;
  readonly #limits: TokenLimits;
  readonly #time: Time;
  readonly #cache: BoundedMap<string, CachedToken>;
  /** Exchanges in progress. */
  readonly #running = new Map<string, Promise<ExchangedToken>>();
  #endpoint: string | undefined;

  /** @throws {TypeError} naming the invalid option */
  constructor(
    options: TokenExchangeOptions,
    issuer: string | undefined,
    limits: TokenLimits,
    time: Time,
  ) {
    checkTokenExchange(options, issuer);
    this.#options = options;
    this.#issuer = issuer;
    this.#limits = limits;
    this.#time = time;
    this.#cache = new BoundedMap(limits.maxExchangedTokens);
    this.#endpoint = options.endpoint;
  }

  /** Token exchange for one request. Its properties do not expose the token. */
  of(subjectToken: string, principal: Principal): TokenExchange {
    return { exchange: (wanted) => this.#exchange(subjectToken, principal, wanted) };
  }

  /** @throws {RuntimeError} UNAUTHORIZED, NOT_READY, INVALID_RESPONSE */
  async #exchange(
    subjectToken: string,
    { id, clientId, scopes }: Principal,
    wanted: WantedToken,
  ): Promise<ExchangedToken> {
    const { audience, resource, scope } = wanted;
    // The key includes granted scopes: a narrow token must not get what a broad one was exchanged
    // for.
    const held = [id, clientId, scopes.toSorted()];
    const key = JSON.stringify([held, audience, resource, scope?.split(' ').toSorted()]);
    const kept = this.#cache.get(key);
    if (kept && this.#time.monotonic() < kept.until && kept.token.accessToken !== wanted.refused) {
      return kept.token;
    }
    const running =
      this.#running.get(key) ??
      this.#exchangeNow(subjectToken, wanted)
        .then((token) => {
          this.#remember(key, token);
          return token;
        })
        .finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return await running;
  }

  #remember(key: string, token: ExchangedToken): void {
    this.#cache.delete(key);
    if (token.expiresAt === undefined) return;
    const lifetimeMs = token.expiresAt - this.#time.wall();
    const until = this.#time.monotonic() + lifetimeMs - Math.min(10_000, lifetimeMs / 2);
    this.#cache.set(key, { token, until });
  }

  async #exchangeNow(subjectToken: string, wanted: WantedToken): Promise<ExchangedToken> {
    const { fetchTimeoutMs, maxDocumentBytes } = this.#limits;
    const bounds = { signal: AbortSignal.timeout(fetchTimeoutMs), maxDocumentBytes };
    const answer = await this.#requestToken(subjectToken, wanted, bounds).catch(
      (error: unknown) => {
        // The endpoint may have moved.
        this.#endpoint = this.#options.endpoint;
        const why = withoutToken(textOfError(error), subjectToken);
        throw new RuntimeError('NOT_READY', `Token exchange is not available now: ${why}`);
      },
    );
    if (answer.status !== 200) throw refusalError(answer, wanted, subjectToken);
    return this.#tokenIn(answer.body ?? {}, wanted, subjectToken);
  }

  async #requestToken(
    subjectToken: string,
    { audience = [], resource = [], scope }: WantedToken,
    bounds: FetchBounds,
  ): Promise<JsonAnswer> {
    this.#endpoint ??= await endpointOf(this.#issuer ?? '', 'token_endpoint', bounds);
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: accessToken,
      requested_token_type: accessToken,
      ...(scope === undefined ? {} : { scope }),
    });
    for (const each of [audience].flat()) body.append('audience', each);
    for (const each of [resource].flat()) body.append('resource', each);
    const headers = await this.#identify(body, this.#endpoint);
    const answer = await postForm(this.#endpoint, bounds, { headers, body });
    if (answer.status >= 500 || answer.status === 429 || !answer.body) {
      throw new Error(`${this.#endpoint} answered with status ${answer.status}`);
    }
    return answer;
  }

  /** Headers that authenticate this server; empty if the body does. */
  async #identify(body: URLSearchParams, endpoint: string): Promise<Record<string, string>> {
    const { clientId, clientSecret, privateKey, algorithm = 'ES256' } = this.#options;
    if (privateKey === undefined) {
      return { authorization: basicCredentials(clientId, clientSecret ?? '') };
    }
    const { SignJWT, importPKCS8 } = await import('jose');
    const now = Math.floor(this.#time.wall() / 1000);
    const assertion = await new SignJWT()
      .setProtectedHeader({ alg: algorithm })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(this.#issuer ?? endpoint)
      .setJti(crypto.randomUUID())
      .setIssuedAt(now)
      .setExpirationTime(now + assertionSeconds)
      .sign(await importPKCS8(privateKey, algorithm));
    body.set('client_id', clientId);
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    body.set('client_assertion', assertion);
    return {};
  }

  /** @throws {RuntimeError} INVALID_RESPONSE if the response has no usable token */
  #tokenIn(body: JsonObject, wanted: WantedToken, subjectToken: string): ExchangedToken {
    const { access_token: token, token_type: type, expires_in: expiresIn, scope } = body;
    const fault =
      typeof token !== 'string' || token === ''
        ? '"access_token" is missing'
        : token === subjectToken
          ? '"access_token" is the caller\'s own token'
          : typeof type !== 'string' || type.toLowerCase() !== 'bearer'
            ? `"token_type" must be Bearer, got ${inspectValue(type)}`
            : undefined;
    if (fault !== undefined) {
      const message = `The token exchange for ${targetName(wanted)} returned no usable token: ${fault}`;
      throw new RuntimeError('INVALID_RESPONSE', message);
    }
    const seconds = Number(expiresIn);
    return {
      accessToken: token as string,
      scope: typeof scope === 'string' ? scope : wanted.scope,
      expiresAt: seconds > 0 ? this.#time.wall() + seconds * 1000 : undefined,
    };
  }
}

const targetName = ({ audience, resource }: WantedToken): string =>
  [audience ?? resource ?? []].flat().join(', ');

/** Error for an exchange that the authorization server rejected. */
function refusalError(
  { status, body }: JsonAnswer,
  wanted: WantedToken,
  subjectToken: string,
): RuntimeError {
  const { error, error_description: description } = body ?? {};
  const said = [error, description].filter((part) => typeof part === 'string').join(': ');
  const why = withoutToken(said, subjectToken) || `HTTP ${status}`;
  const message = `The authorization server refused a token for ${targetName(wanted)}: ${why}`;
  return new RuntimeError('UNAUTHORIZED', message, { status });
}

const withoutToken = (text: string, token: string): string =>
  printable(text.replaceAll(token, '[token]'), 300);

/** @throws {TypeError} naming the invalid option */
function checkTokenExchange(given: TokenExchangeOptions, issuer: string | undefined): void {
  const options: unknown = given;
  if (!isJsonObject(options)) {
    throw new TypeError(`tokenExchange must be an object of options, got ${inspectValue(options)}`);
  }
  const { clientId, clientSecret, privateKey, endpoint } = options;
  if (typeof clientId !== 'string' || clientId === '') {
    throw new TypeError(
      "tokenExchange.clientId must be this server's client id at its authorization server",
    );
  }
  if ((typeof clientSecret === 'string') === (typeof privateKey === 'string')) {
    throw new TypeError('tokenExchange must have either "clientSecret" or "privateKey"');
  }
  const fault = endpoint === undefined ? undefined : validateTrustedUrl(endpoint);
  if (fault !== undefined) {
    throw new TypeError(`tokenExchange.endpoint ${fault}, got ${inspectValue(endpoint)}`);
  }
  if (endpoint !== undefined || issuer !== undefined) return;
  throw new TypeError('tokenExchange.endpoint must be set if there is no "issuer"');
}
