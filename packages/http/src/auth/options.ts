/** Options of authorization, validated at start. */
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { validateScopes } from '../../../../src/protocol/oauth.ts';
import type { RequestToAuthorize } from './bearer-token.ts';
import { validateTrustedUrl } from './fetch-json.ts';

/** Limits of authorization. */
export interface TokenLimits {
  /** Maximum token length, characters; longer tokens are rejected unread. */
  readonly maxTokenLength: number;
  /** Tolerated clock difference between the issuer and this server, seconds. */
  readonly clockSkewSeconds: number;
  /** Time limit for all requests to the authorization server that one token needs, milliseconds. */
  readonly fetchTimeoutMs: number;
  /** Maximum size of a key set, metadata document or introspection response, bytes. */
  readonly maxDocumentBytes: number;
  /** Age at which keys are fetched again, milliseconds. */
  readonly keysMaxAgeMs: number;
  /** Additional time stale keys are used while the issuer is unreachable, milliseconds. */
  readonly keysStaleMs: number;
  /** Minimum pause between key fetches, milliseconds. */
  readonly refetchPauseMs: number;
  /**
   * Time a checked token is cached, milliseconds, at most until it expires. A revoked token is
   * accepted until then. 0: every request checks its token.
   */
  readonly tokenCacheMs: number;
  /** Maximum number of cached tokens. */
  readonly maxCachedTokens: number;
  /**
   * Maximum concurrent introspections for requests. Up to as many more wait per address; addresses
   * take turns. Streams have `maxRechecks`.
   */
  readonly maxIntrospections: number;
  /**
   * Interval at which the token of an open stream is checked again, milliseconds, to detect
   * revocation. 0: never.
   */
  readonly recheckMs: number;
  /** Maximum concurrent rechecks of stream tokens; principals take turns. */
  readonly maxRechecks: number;
  /**
   * Time a stream stays open while the authorization server does not answer rechecks, milliseconds.
   */
  readonly uncheckedTimeoutMs: number;
  /** Maximum number of exchanged tokens cached until they expire. */
  readonly maxExchangedTokens: number;
}

/** Default limits of authorization. docs/limits.md explains each. */
export const defaultTokenLimits: TokenLimits = Object.freeze({
  maxTokenLength: 16 * 1024,
  clockSkewSeconds: 30,
  fetchTimeoutMs: 5_000,
  maxDocumentBytes: 256 * 1024,
  keysMaxAgeMs: 10 * 60_000,
  keysStaleMs: 60 * 60_000,
  refetchPauseMs: 30_000,
  tokenCacheMs: 60_000,
  maxCachedTokens: 1_000,
  maxIntrospections: 64,
  recheckMs: 60_000,
  maxRechecks: 8,
  uncheckedTimeoutMs: 5 * 60_000,
  maxExchangedTokens: 1_000,
});

/** Token exchange at an authorization server (RFC 8693). */
export interface TokenExchangeOptions {
  /** Client id of this server at the authorization server. */
  readonly clientId: string;
  /** Client secret, sent with HTTP Basic authentication. */
  readonly clientSecret?: string;
  /**
   * Private key (PKCS #8, PEM) that signs a client assertion instead of sending a secret (RFC
   * 7523).
   */
  readonly privateKey?: string;
  /** Signature algorithm of the assertion. Default `ES256`. */
  readonly algorithm?: string;
  /** Token endpoint. Default: from the issuer's metadata. Required with `verifyToken`. */
  readonly endpoint?: string;
}

interface CommonOptions {
  /** Scopes required by every request. */
  readonly requiredScopes?: readonly string[];
  /**
   * Scopes listed in the metadata. Default: `requiredScopes`. List the minimum a client can start
   * with.
   */
  readonly scopesSupported?: readonly string[];
  /** Narrower scopes implied by a broader one: `{ 'files:write': ['files:read'] }`. */
  readonly impliedScopes?: { readonly [broader: string]: readonly string[] };
  /** Human-readable name of the server. */
  readonly resourceName?: string;
  /** URL of the documentation for developers. */
  readonly resourceDocumentation?: string;
  /**
   * Lets handlers exchange the caller's token for one of another server: `context.exchangeToken`.
   *
   * @see RFC 8693
   */
  readonly tokenExchange?: TokenExchangeOptions;
  readonly limits?: Partial<TokenLimits>;
}

interface IssuerOptions extends CommonOptions {
  /** Issuer identifier, exactly as in its tokens: `https://auth.example.com`. */
  readonly issuer: string;
  /**
   * Accepted audiences of a token: the public URL of the endpoint, or its name at the authorization
   * server. One of several must match.
   */
  readonly audience: string | readonly string[];
  /** Public URL of the endpoint. Default: the first audience that is a URL. */
  readonly resource?: string;
  readonly verifyToken?: never;
}

/** Validates tokens as JWTs signed by the issuer. */
export interface JwtOptions extends IssuerOptions {
  /** URL of the issuer's keys. Default: from its metadata. */
  readonly jwksUri?: string;
  /** Accepted signature algorithms, which must be asymmetric. Default: all of them. */
  readonly algorithms?: readonly string[];
  /** Not with JWTs: see {@link IntrospectionOptions}. */
  readonly introspection?: never;
}

/** Validates opaque tokens by introspection at the issuer. */
export interface IntrospectionOptions extends IssuerOptions {
  /** @see RFC 7662 */
  readonly introspection: {
    readonly clientId: string;
    readonly clientSecret: string;
    /** Introspection endpoint. Default: from the issuer's metadata. */
    readonly endpoint?: string;
  };
  /** Only with JWTs: see {@link JwtOptions}. */
  readonly jwksUri?: never;
  /** Only with JWTs: see {@link JwtOptions}. */
  readonly algorithms?: never;
}

/** Result of a custom token verifier. */
export interface VerifiedToken {
  /** Unique among all subjects of `verifyToken`: sessions are bound to it. */
  readonly subject: string;
  /** Client that the token was issued to, if known. */
  readonly clientId?: string;
  /** Granted scopes. Default: none. */
  readonly scopes?: readonly string[];
  /** Other claims, available to handlers as `context.principal`. */
  readonly claims?: JsonObject;
  /** Expiry, milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** Validates tokens with your own function. */
export interface VerifierOptions extends CommonOptions {
  /**
   * Validates a token completely, including its audience. Called for each request.
   *
   * @returns undefined if the token is invalid
   * @throws if validity cannot be determined now: the client is told to try again later
   */
  readonly verifyToken: (
    token: string,
    request: RequestToAuthorize,
  ) => VerifiedToken | undefined | Promise<VerifiedToken | undefined>;
  /**
   * Public URL of the endpoint. Together with `authorizationServers` it tells clients where to get
   * a token.
   */
  readonly resource?: string;
  /** Authorization servers that issue tokens for this server. */
  readonly authorizationServers?: readonly string[];
  /** Only for tokens validated by this library: see {@link JwtOptions}. */
  readonly issuer?: never;
}

/**
 * How an endpoint authenticates callers: with JWTs, by introspection, or with your own verifier.
 */
export type AuthorizationOptions = JwtOptions | IntrospectionOptions | VerifierOptions;

/** Asymmetric only: with a shared key this server could issue tokens itself. */
const asymmetric = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87'],
];

export function algorithmsOf({ algorithms = asymmetric }: JwtOptions): string[] {
  const wrong = algorithms.find((name) => !asymmetric.includes(name));
  if (wrong === undefined && algorithms.length > 0) return [...algorithms];
  throw new TypeError(
    `algorithms must be some of ${asymmetric.join(', ')}; ${wrong === undefined ? 'there are none' : `${inspectValue(wrong)} is none of them`}`,
  );
}

/** @throws {RangeError} naming the invalid limit */
export function tokenLimitsOf({ limits = {} }: CommonOptions): TokenLimits {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultTokenLimits, name)) {
      throw new RangeError(
        `Unknown token limit ${inspectValue(name)}; the limits are ${Object.keys(defaultTokenLimits).join(', ')}`,
      );
    }
    const least = name.startsWith('max') || name === 'fetchTimeoutMs' ? 1 : 0;
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `${name} must be a number of at least ${least}, got ${inspectValue(value)}`,
    );
  }
  return { ...defaultTokenLimits, ...limits };
}

/** @throws {TypeError} naming the invalid option */
export function checkAuthorization(given: AuthorizationOptions): void {
  const options: unknown = given;
  if (!isJsonObject(options)) {
    throw new TypeError(`authorization must be an object of options, got ${inspectValue(options)}`);
  }
  if (given.verifyToken === undefined) checkIssuer(given);
  else checkVerifier(given);
  const { requiredScopes, scopesSupported, impliedScopes = {} } = given;
  const lists = { requiredScopes, scopesSupported, ...impliedScopes };
  for (const [name, scopes] of Object.entries(lists)) {
    const fault = scopes === undefined ? undefined : validateScopes(scopes);
    if (fault !== undefined) throw new TypeError(`${name} ${fault}`);
  }
}

function checkIssuer(options: JwtOptions | IntrospectionOptions): void {
  const { issuer, jwksUri, introspection } = options;
  requireUrl('issuer', issuer);
  if (jwksUri !== undefined) requireUrl('jwksUri', jwksUri);
  if (introspection?.endpoint !== undefined)
    requireUrl('introspection.endpoint', introspection.endpoint);
  for (const member of ['clientId', 'clientSecret'] as const) {
    if (introspection && typeof introspection[member] !== 'string') {
      throw new TypeError(`introspection.${member} must be a string`);
    }
  }
  const audiences = audiencesOf(options);
  if (audiences.length === 0 || audiences.some((one) => typeof one !== 'string' || one === '')) {
    throw new TypeError(
      `audience must name this server in the tokens of ${issuer}; otherwise tokens for any other server would be accepted`,
    );
  }
  requireUrl('resource', resourceOf(options));
}

function checkVerifier({ verifyToken, resource, authorizationServers }: VerifierOptions): void {
  if (typeof verifyToken !== 'function') {
    throw new TypeError(`verifyToken must be a function, got ${inspectValue(verifyToken)}`);
  }
  if (resource !== undefined) requireUrl('resource', resource);
  for (const server of authorizationServers ?? []) requireUrl('authorizationServers', server);
  if ((resource === undefined) === (authorizationServers === undefined)) return;
  throw new TypeError(
    'resource and authorizationServers must be set together, because the metadata needs both',
  );
}

function requireUrl(name: string, value: unknown): void {
  const fault = validateTrustedUrl(value);
  if (fault !== undefined) throw new TypeError(`${name} ${fault}, got ${inspectValue(value)}`);
}

export function audiencesOf({ audience }: IssuerOptions): readonly string[] {
  return typeof audience === 'string' ? [audience] : [...(audience ?? [])];
}

/** URL of the protected resource; undefined if clients are not told where to get a token. */
export function resourceOf(options: AuthorizationOptions): string | undefined {
  if (options.resource !== undefined || options.verifyToken) return options.resource;
  return audiencesOf(options).find((one) => validateTrustedUrl(one) === undefined);
}
