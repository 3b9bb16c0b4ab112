/** How a server knows its callers, as its author writes it. What is wrong is said at once. */
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { validateScopes } from '../../../../src/protocol/oauth.ts';
import type { RequestToAuthorize } from './bearer-token.ts';
import { validateTrustedUrl } from './fetch-json.ts';

/** Bounds of authorization, each an option. */
export interface TokenLimits {
  /** The longest token, characters; a longer one is refused unread. */
  readonly maxTokenLength: number;
  /** How far the clocks of the issuer and of this server may be apart, seconds. */
  readonly clockSkewSeconds: number;
  /** How long the authorization server may take for all that one token needs of it, milliseconds. */
  readonly fetchTimeoutMs: number;
  /** How long a key set, metadata or an introspection may be, bytes. */
  readonly maxDocumentBytes: number;
  /** How old keys may be before they are fetched again, milliseconds. */
  readonly keysMaxAgeMs: number;
  /** For how long older keys are still used if the issuer cannot be reached, milliseconds. */
  readonly keysStaleMs: number;
  /** The pause after a fetch of keys, whatever tokens come meanwhile, milliseconds. */
  readonly refetchPauseMs: number;
  /**
   * How long a checked token is not checked again, milliseconds, and never past its expiry: a
   * revoked one is accepted until then. 0: every request checks its token.
   */
  readonly tokenCacheMs: number;
  /** How many checked tokens are remembered. */
  readonly maxCachedTokens: number;
  /**
   * How many tokens of requests may be with the authorization server for introspection at once. As
   * many more of one address wait: addresses take turns. Those of streams have `maxRechecks`.
   */
  readonly maxIntrospections: number;
  /**
   * How long a stream that stays open goes on until its token is checked again, milliseconds, so
   * that one that was revoked ends it. 0: never.
   */
  readonly recheckMs: number;
  /** How many tokens of streams are checked again at once; principals take turns. */
  readonly maxRechecks: number;
  /**
   * How long a stream goes on though its token cannot be checked again, because the authorization
   * server does not answer, milliseconds; then it ends.
   */
  readonly uncheckedTimeoutMs: number;
  /** How many exchanged tokens are kept until they expire. */
  readonly maxExchangedTokens: number;
}

/** What the checking of tokens keeps to if nobody says otherwise. docs/limits.md explains each. */
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

/** Where tokens are exchanged, and who this server is there. */
export interface TokenExchangeOptions {
  /** This server's id at the authorization server. */
  readonly clientId: string;
  /** Sent as HTTP Basic authentication. */
  readonly clientSecret?: string;
  /** A PKCS #8 key in PEM: signs an assertion instead of sending a secret (RFC 7523). */
  readonly privateKey?: string;
  /** The algorithm of the signature; `ES256` by default. */
  readonly algorithm?: string;
  /** The token endpoint. By default the issuer's metadata say where; with `verifyToken` it must be given. */
  readonly endpoint?: string;
}

interface CommonOptions {
  /** Scopes that every request needs. */
  readonly requiredScopes?: readonly string[];
  /** What the metadata names; by default `requiredScopes`. Name the fewest that one can begin with. */
  readonly scopesSupported?: readonly string[];
  /** The narrower scopes that a broader one implies: `{ 'files:write': ['files:read'] }`. */
  readonly impliedScopes?: { readonly [broader: string]: readonly string[] };
  /** The name of the server, for people. */
  readonly resourceName?: string;
  /** Where developers read about it. */
  readonly resourceDocumentation?: string;
  /**
   * Lets handlers exchange the token of their caller for one of another server:
   * `context.exchangeToken`.
   *
   * @see RFC 8693
   */
  readonly tokenExchange?: TokenExchangeOptions;
  readonly limits?: Partial<TokenLimits>;
}

interface IssuerOptions extends CommonOptions {
  /** The authorization server, exactly as it names itself: `https://auth.example.com`. */
  readonly issuer: string;
  /**
   * Whom a token must be for: the URL of this server's endpoint, as clients know it, or the name
   * that the authorization server has for it. With several, one of them.
   */
  readonly audience: string | readonly string[];
  /** The URL of the endpoint as clients know it; by default the first audience that is one. */
  readonly resource?: string;
  readonly verifyToken?: never;
}

/** Tokens are JWTs, signed by their issuer. */
export interface JwtOptions extends IssuerOptions {
  /** Where its keys are; by default its metadata say so. */
  readonly jwksUri?: string;
  /** Accepted signatures, of the asymmetric ones; by default all of those. */
  readonly algorithms?: readonly string[];
  /** Only for tokens that their issuer is asked about: see {@link IntrospectionOptions}. */
  readonly introspection?: never;
}

/** Tokens mean something to their issuer alone, which is asked. */
export interface IntrospectionOptions extends IssuerOptions {
  /** @see RFC 7662 */
  readonly introspection: {
    readonly clientId: string;
    readonly clientSecret: string;
    /** By default the issuer's metadata say where. */
    readonly endpoint?: string;
  };
  /** Only for signed tokens: see {@link JwtOptions}. */
  readonly jwksUri?: never;
  /** Only for signed tokens: see {@link JwtOptions}. */
  readonly algorithms?: never;
}

/** What a token of one's own says. */
export interface VerifiedToken {
  /** Unique among all that `verifyToken` accepts: sessions are bound to it. */
  readonly subject: string;
  /** The client that the token was issued to, if it is known. */
  readonly clientId?: string;
  /** What the token allows; by default nothing that needs a scope. */
  readonly scopes?: readonly string[];
  /** What else it says; handlers find it at `context.principal`. */
  readonly claims?: JsonObject;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** Tokens are checked by the author's own code. */
export interface VerifierOptions extends CommonOptions {
  /**
   * Checks everything about a token, its audience too. It is called for each request.
   *
   * @returns undefined for one that is not valid
   * @throws if it cannot tell now: the client is told to try again later
   */
  readonly verifyToken: (
    token: string,
    request: RequestToAuthorize,
  ) => VerifiedToken | undefined | Promise<VerifiedToken | undefined>;
  /** With both, clients are told where to get a token. */
  readonly resource?: string;
  /** Where clients may get a token. */
  readonly authorizationServers?: readonly string[];
  /** Only for tokens that the runtime checks: see {@link JwtOptions}. */
  readonly issuer?: never;
}

/**
 * How an endpoint tells who calls: by signed tokens, by asking the issuer, or by code of your
 * own.
 */
export type AuthorizationOptions = JwtOptions | IntrospectionOptions | VerifierOptions;

/** Those whose keys are public: with a shared one this server could issue tokens itself. */
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

/** @throws {RangeError} naming the limit */
export function tokenLimitsOf({ limits = {} }: CommonOptions): TokenLimits {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultTokenLimits, name)) {
      throw new RangeError(
        `There is no limit ${inspectValue(name)} of tokens; there are ${Object.keys(defaultTokenLimits).join(', ')}`,
      );
    }
    const least = name.startsWith('max') || name === 'fetchTimeoutMs' ? 1 : 0;
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `${name} must be a number of at least ${least}, this is ${inspectValue(value)}`,
    );
  }
  return { ...defaultTokenLimits, ...limits };
}

/** @throws {TypeError} naming the option */
export function checkAuthorization(given: AuthorizationOptions): void {
  const options: unknown = given;
  if (!isJsonObject(options)) {
    throw new TypeError(`authorization is an object of options, this is ${inspectValue(options)}`);
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
  demandUrl('issuer', issuer);
  if (jwksUri !== undefined) demandUrl('jwksUri', jwksUri);
  if (introspection?.endpoint !== undefined)
    demandUrl('introspection.endpoint', introspection.endpoint);
  for (const member of ['clientId', 'clientSecret'] as const) {
    if (introspection && typeof introspection[member] !== 'string') {
      throw new TypeError(`introspection.${member} must be a string`);
    }
  }
  const audiences = audiencesOf(options);
  if (audiences.length === 0 || audiences.some((one) => typeof one !== 'string' || one === '')) {
    throw new TypeError(
      `audience must name this server in the tokens of ${issuer}; without it, a token for any other server would be accepted`,
    );
  }
  demandUrl('resource', resourceOf(options));
}

function checkVerifier({ verifyToken, resource, authorizationServers }: VerifierOptions): void {
  if (typeof verifyToken !== 'function') {
    throw new TypeError(`verifyToken must be a function, this is ${inspectValue(verifyToken)}`);
  }
  if (resource !== undefined) demandUrl('resource', resource);
  for (const server of authorizationServers ?? []) demandUrl('authorizationServers', server);
  if ((resource === undefined) === (authorizationServers === undefined)) return;
  throw new TypeError('resource and authorizationServers go together: both are in the metadata');
}

function demandUrl(name: string, value: unknown): void {
  const fault = validateTrustedUrl(value);
  if (fault !== undefined) throw new TypeError(`${name} ${fault}, this is ${inspectValue(value)}`);
}

export function audiencesOf({ audience }: IssuerOptions): readonly string[] {
  return typeof audience === 'string' ? [audience] : [...(audience ?? [])];
}

/** The URL of the protected resource; undefined if clients are not told where to get tokens. */
export function resourceOf(options: AuthorizationOptions): string | undefined {
  if (options.resource !== undefined || options.verifyToken) return options.resource;
  return audiencesOf(options).find((one) => validateTrustedUrl(one) === undefined);
}
