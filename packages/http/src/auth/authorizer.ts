/**
 * Authorization of HTTP requests: this server as an OAuth 2.1 resource server. Takes strings and
 * returns decisions; knows nothing of the transport.
 *
 * @see MCP 2026-07-28, basic/authorization; RFC 6750; RFC 9728
 */
import { systemClock } from '../../../../src/actors/clock.ts';
import { textOfError } from '../../../../src/protocol/errors.ts';
import type { Principal, TokenExchange } from '../../../../src/protocol/request-origin.ts';
import { presentedToken } from './bearer-token.ts';
import type { RequestToAuthorize } from './bearer-token.ts';
import { introspectionCheck } from './introspection.ts';
import { jwtCheck } from './jwt.ts';
import { checkAuthorization, resourceOf, tokenLimitsOf } from './options.ts';
import type { AuthorizationOptions, TokenLimits, VerifierOptions } from './options.ts';
import { requireSubject, expandScopes } from './principal-claims.ts';
import { cachedCheck } from './token-cache.ts';
import { TokenExchanges } from './token-exchange.ts';
import { AuthorizationUnavailable, InvalidToken } from './token-check.ts';
import type { CheckPurpose, CheckToken, Time } from './token-check.ts';
import { isScope } from '../../../../src/protocol/oauth.ts';

/** An error response for a request that is not authorized. Contains no token. */
export interface AuthorizationRefusal {
  readonly ok: false;
  /**
   * 400: malformed; 401: no valid token; 403: insufficient scope; 503: the token cannot be checked
   * now.
   */
  readonly status: 400 | 401 | 403 | 503;
  /** `www-authenticate`, or `retry-after` with a 503. */
  readonly headers: { readonly [name: string]: string };
  /** Message for the client. */
  readonly message: string;
  /** Cause of a 503, for the log only. */
  readonly detail?: string;
}

export type Authorization =
  | {
      readonly ok: true;
      readonly principal: Principal;
      /** Token exchange for the caller's token; undefined if not configured. */
      readonly tokens: TokenExchange | undefined;
      /** Remaining lifetime of the token, milliseconds; undefined if it does not expire. */
      readonly expiresInMs: number | undefined;
    }
  | AuthorizationRefusal;

export interface Authorizer {
  readonly limits: TokenLimits;
  /** Protected resource metadata; undefined if clients are not told where to get a token. */
  readonly metadata: ResourceMetadata | undefined;
  /** Paths of the metadata: with the endpoint's path inserted, and at the root. */
  readonly metadataPaths: readonly string[];
  /** Identifies the caller, or returns the error response. Never rejects. */
  authenticate(request: RequestToAuthorize, purpose?: CheckPurpose): Promise<Authorization>;
  /**
   * Checks that a principal has the required scopes.
   *
   * @returns undefined if it does; otherwise a 403 that names all scopes to request
   */
  requireScopes(principal: Principal, scopes: readonly string[]): AuthorizationRefusal | undefined;
}

/**
 * @param time clocks, replaced in tests
 * @throws {TypeError} or {RangeError} naming the invalid option
 */
export function createAuthorizer(options: AuthorizationOptions, time: Time = realTime): Authorizer {
  checkAuthorization(options);
  return new ResourceServer(options, tokenLimitsOf(options), time);
}

const realTime: Time = { wall: () => Date.now(), monotonic: () => systemClock.now() };

class ResourceServer implements Authorizer {
  readonly metadata: ResourceMetadata | undefined;
  readonly metadataPaths: readonly string[];
  readonly #metadataUrl: string | undefined;
  readonly #required: readonly string[];
  readonly #implied: { readonly [broader: string]: readonly string[] };
  readonly limits: TokenLimits;
  readonly #check: CheckToken;
  readonly #exchanges: TokenExchanges | undefined;
  readonly #time: Time;

  constructor(options: AuthorizationOptions, limits: TokenLimits, time: Time) {
    const resource = resourceOf(options);
    this.metadata = resource === undefined ? undefined : metadataOf(options, resource);
    this.metadataPaths = resource === undefined ? [] : metadataPathsOf(resource);
    this.#metadataUrl = resource === undefined ? undefined : metadataUrlOf(resource);
    this.#required = [...(options.requiredScopes ?? [])];
    this.#implied = options.impliedScopes ?? {};
    this.limits = limits;
    this.#check = checkOf(options, limits, time);
    const { tokenExchange, issuer } = options;
    this.#exchanges = tokenExchange && new TokenExchanges(tokenExchange, issuer, limits, time);
    this.#time = time;
  }

  async authenticate(
    request: RequestToAuthorize,
    purpose: CheckPurpose = 'request',
  ): Promise<Authorization> {
    const presented = presentedToken(request);
    if (presented.kind === 'none') return this.#refusal(401, 'An access token is required');
    if (presented.kind === 'malformed') {
      return this.#refusal(400, presented.message, 'invalid_request');
    }
    const { token } = presented;
    if (token.length > this.limits.maxTokenLength) {
      return this.#refusal(401, 'The token is too long', 'invalid_token');
    }
    try {
      const found = await this.#check(token, request, purpose);
      const principal = { ...found, scopes: expandScopes(found.scopes, this.#implied) };
      const expiresInMs = this.#expiresInMs(principal);
      const tokens = this.#exchanges?.of(token, principal);
      return this.requireScopes(principal, []) ?? { ok: true, principal, tokens, expiresInMs };
    } catch (error) {
      if (error instanceof InvalidToken) return this.#refusal(401, error.message, 'invalid_token');
      return unavailable(error, token);
    }
  }

  requireScopes(principal: Principal, scopes: readonly string[]): AuthorizationRefusal | undefined {
    const needed = [...new Set([...this.#required, ...scopes])];
    const missing = needed.filter((scope) => !principal.scopes.includes(scope));
    if (missing.length === 0) return undefined;
    const message = `The token lacks the required scopes ${missing.join(', ')}`;
    return this.#refusal(403, message, 'insufficient_scope', stepUpScopes(principal, needed));
  }

  #expiresInMs({ expiresAt }: Principal): number | undefined {
    if (expiresAt === undefined) return undefined;
    return expiresAt + this.limits.clockSkewSeconds * 1000 - this.#time.wall();
  }

  #refusal(
    status: 400 | 401 | 403,
    message: string,
    error?: BearerError,
    scopes: readonly string[] = this.#required,
  ): AuthorizationRefusal {
    const description = error === undefined ? undefined : message;
    const metadataUrl = this.#metadataUrl;
    const challenge = challengeText({ error, description, scopes, metadataUrl });
    return { ok: false, status, headers: { 'www-authenticate': challenge }, message };
  }
}

function metadataOf(options: AuthorizationOptions, resource: string): ResourceMetadata {
  const { requiredScopes = [], scopesSupported = requiredScopes } = options;
  const { resourceName, resourceDocumentation } = options;
  const servers = options.verifyToken ? (options.authorizationServers ?? []) : [options.issuer];
  return {
    resource,
    authorization_servers: [...servers],
    bearer_methods_supported: ['header'],
    ...(scopesSupported.length > 0 ? { scopes_supported: [...scopesSupported] } : {}),
    resource_name: resourceName,
    resource_documentation: resourceDocumentation,
  };
}

function checkOf(options: AuthorizationOptions, limits: TokenLimits, time: Time): CheckToken {
  if (options.verifyToken) return verifierCheck(options, limits, time);
  if (options.introspection) {
    return cachedCheck(introspectionCheck(options, limits, time), limits, time, 'kept');
  }
  return cachedCheck(jwtCheck(options, limits, time), limits, time, 'forgotten');
}

function verifierCheck(
  { verifyToken }: VerifierOptions,
  limits: TokenLimits,
  time: Time,
): CheckToken {
  return async (token, request) => {
    const verified = await verifyToken(token, request);
    if (!verified) throw new InvalidToken('The token is not valid');
    const { subject, clientId, scopes = [], claims = {}, expiresAt } = verified;
    const id = requireSubject(subject);
    if (expiresAt !== undefined && time.wall() >= expiresAt + limits.clockSkewSeconds * 1000) {
      throw new InvalidToken('The token has expired');
    }
    // Copies known members only, as the verifier may have included the token.
    return { id, subject, clientId, scopes, claims, expiresAt };
  };
}

/** 503, because a 401 would make the client request another token. */
function unavailable(error: unknown, token: string): AuthorizationRefusal {
  const retryAfterMs = error instanceof AuthorizationUnavailable ? error.retryAfterMs : 1000;
  const cause = error instanceof AuthorizationUnavailable ? error.cause : undefined;
  const detail =
    cause === undefined ? textOfError(error) : `${textOfError(error)}: ${textOfError(cause)}`;
  return {
    ok: false,
    status: 503,
    headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
    message: 'Access tokens cannot be checked right now; try again later',
    // A custom verifier may name the token in its error.
    detail: detail.replaceAll(token, '[token]'),
  };
}

/**
 * Protected resource metadata and its location.
 *
 * @see RFC 9728; MCP 2026-07-28, basic/authorization/authorization-server-discovery
 */

/** @see RFC 9728, 2 */
export interface ResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly ['header'];
  readonly scopes_supported?: readonly string[];
  readonly resource_name?: string;
  readonly resource_documentation?: string;
}

const wellKnown = '/.well-known/oauth-protected-resource';

/** URL of a resource's metadata: the resource's path is inserted after the well-known prefix. */
function metadataUrlOf(resource: string): string {
  const { origin, pathname, search } = new URL(resource);
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}${search}`;
}

/** Paths of the metadata: with the resource's path inserted, and at the root. */
function metadataPathsOf(resource: string): readonly string[] {
  return [...new Set([new URL(metadataUrlOf(resource)).pathname, wellKnown])];
}

/** Error codes of RFC 6750; a request without a token gets none. */
type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

interface BearerChallenge {
  readonly error?: BearerError | undefined;
  /** Description for developers. */
  readonly description?: string | undefined;
  readonly scopes: readonly string[];
  /** URL of the resource metadata. */
  readonly metadataUrl: string | undefined;
}

/**
 * Value of `WWW-Authenticate`, from which a client learns how to get the required token.
 *
 * @see RFC 6750, 3; RFC 9728, 5.1; MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
 */
function challengeText({ error, description, scopes, metadataUrl }: BearerChallenge): string {
  const parameters = {
    error,
    error_description: description,
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    resource_metadata: metadataUrl,
  };
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${quotedString(value)}`],
  );
  return written.length === 0 ? 'Bearer' : `Bearer ${written.join(', ')}`;
}

/** A quoted string (RFC 9110, 5.6.4). Characters that are invalid in headers become `?`. */
function quotedString(value: string): string {
  return `"${value.replaceAll(/[^\x20-\x7E]/g, '?').replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** Limits the header's length for tokens with many scopes. */
const maxGranted = 50;

/**
 * Scopes to request in a step-up: the required ones plus those already granted, because clients of
 * 2025-11-25 request exactly what they are told and would lose the others. Omits `offline_access`,
 * which is not a scope of a resource.
 */
function stepUpScopes({ scopes }: Principal, needed: readonly string[]): readonly string[] {
  const kept = scopes.filter((scope) => isScope(scope) && scope !== 'offline_access');
  return [...new Set([...needed, ...kept.slice(0, maxGranted)])];
}
