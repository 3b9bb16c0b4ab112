/**
 * Authorization of HTTP requests: this server as an OAuth 2.1 resource server. It gets strings and
 * gives decisions, and knows nothing of the transport.
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
import { demandSubject, withImplied } from './principal-claims.ts';
import { remembering } from './token-cache.ts';
import { TokenExchanges } from './token-exchange.ts';
import { AuthorizationUnavailable, InvalidToken } from './token-check.ts';
import type { CheckPurpose, CheckToken, Time } from './token-check.ts';
import { isScope } from '../../../../src/protocol/oauth.ts';

/** How a request is answered that is not served. Nothing of it contains a token. */
export interface AuthorizationRefusal {
  readonly ok: false;
  /**
   * 400: malformed; 401: no valid token; 403: the token does not allow it; 503: whether the token is
   * valid cannot be known now.
   */
  readonly status: 400 | 401 | 403 | 503;
  /** With `www-authenticate`, or `retry-after` for a 503. */
  readonly headers: { readonly [name: string]: string };
  /** For the client. */
  readonly message: string;
  /** For the log alone: why a 503, in the words of what went wrong. */
  readonly detail?: string;
}

export type Authorization =
  | {
      readonly ok: true;
      readonly principal: Principal;
      /** Exchanges the token; undefined if the server exchanges none. */
      readonly tokens: TokenExchange | undefined;
      /** How long the token will still be accepted, milliseconds; undefined if it does not expire. */
      readonly expiresInMs: number | undefined;
    }
  | AuthorizationRefusal;

export interface Authorizer {
  readonly limits: TokenLimits;
  /** The document for clients; undefined if they are not told where to get a token. */
  readonly metadata: ResourceMetadata | undefined;
  /** Where it is served: with the endpoint's path inserted, and at the root. */
  readonly metadataPaths: readonly string[];
  /** Says who makes a request, or how it is refused. It does not fail. */
  authenticate(request: RequestToAuthorize, purpose?: CheckPurpose): Promise<Authorization>;
  /**
   * Says whether a principal may do what needs these scopes.
   *
   * @returns undefined if it may; else a 403 that names all scopes to ask for
   */
  demand(principal: Principal, scopes: readonly string[]): AuthorizationRefusal | undefined;
}

/**
 * @param time for tests
 * @throws {TypeError} or {RangeError} naming the option that is wrong
 */
export function authorization(options: AuthorizationOptions, time: Time = realTime): Authorizer {
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
    if (presented.kind === 'none') return this.#refused(401, 'An access token is needed');
    if (presented.kind === 'malformed') {
      return this.#refused(400, presented.message, 'invalid_request');
    }
    const { token } = presented;
    if (token.length > this.limits.maxTokenLength) {
      return this.#refused(401, 'The token is too long', 'invalid_token');
    }
    try {
      const found = await this.#check(token, request, purpose);
      const principal = { ...found, scopes: withImplied(found.scopes, this.#implied) };
      const expiresInMs = this.#expiresInMs(principal);
      const tokens = this.#exchanges?.of(token, principal);
      return this.demand(principal, []) ?? { ok: true, principal, tokens, expiresInMs };
    } catch (error) {
      if (error instanceof InvalidToken) return this.#refused(401, error.message, 'invalid_token');
      return unavailable(error, token);
    }
  }

  demand(principal: Principal, scopes: readonly string[]): AuthorizationRefusal | undefined {
    const needed = [...new Set([...this.#required, ...scopes])];
    const lacking = needed.filter((scope) => !principal.scopes.includes(scope));
    if (lacking.length === 0) return undefined;
    const message = `The token does not allow this: it lacks ${lacking.join(', ')}`;
    return this.#refused(403, message, 'insufficient_scope', stepUpScopes(principal, needed));
  }

  #expiresInMs({ expiresAt }: Principal): number | undefined {
    if (expiresAt === undefined) return undefined;
    return expiresAt + this.limits.clockSkewSeconds * 1000 - this.#time.wall();
  }

  #refused(
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
  if (options.verifyToken) return ownCheck(options, limits, time);
  if (options.introspection) {
    return remembering(introspectionCheck(options, limits, time), limits, time, 'kept');
  }
  return remembering(jwtCheck(options, limits, time), limits, time, 'forgotten');
}

function ownCheck({ verifyToken }: VerifierOptions, limits: TokenLimits, time: Time): CheckToken {
  return async (token, request) => {
    const verified = await verifyToken(token, request);
    if (!verified) throw new InvalidToken('The token is not valid');
    const { subject, clientId, scopes = [], claims = {}, expiresAt } = verified;
    const id = demandSubject(subject);
    if (expiresAt !== undefined && time.wall() >= expiresAt + limits.clockSkewSeconds * 1000) {
      throw new InvalidToken('The token has expired');
    }
    // Not all that it gave: it may have put the token there.
    return { id, subject, clientId, scopes, claims, expiresAt };
  };
}

/** Whether the token is valid is unknown: a 401 would make the client ask for another one. */
function unavailable(error: unknown, token: string): AuthorizationRefusal {
  const retryAfterMs = error instanceof AuthorizationUnavailable ? error.retryAfterMs : 1000;
  const cause = error instanceof AuthorizationUnavailable ? error.cause : undefined;
  const detail =
    cause === undefined ? textOfError(error) : `${textOfError(error)}: ${textOfError(cause)}`;
  return {
    ok: false,
    status: 503,
    headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
    message: 'Access tokens cannot be checked at the moment; try again later',
    // An author's verifier may name the token in what it throws.
    detail: detail.replaceAll(token, '[token]'),
  };
}

/**
 * What clients are told of this server as a protected resource, and where.
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

/** Where the metadata of a resource is, for those who know its URL: its path is inserted. */
function metadataUrlOf(resource: string): string {
  const { origin, pathname, search } = new URL(resource);
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}${search}`;
}

/** The paths under which the metadata is served: with the resource's path inserted, and at the root. */
function metadataPathsOf(resource: string): readonly string[] {
  return [...new Set([new URL(metadataUrlOf(resource)).pathname, wellKnown])];
}

/** What is wrong with a request; without a token there is nothing to say. */
type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

interface BearerChallenge {
  readonly error?: BearerError | undefined;
  /** For a developer. */
  readonly description?: string | undefined;
  readonly scopes: readonly string[];
  /** Where the metadata of the resource is. */
  readonly metadataUrl: string | undefined;
}

/**
 * The value of `WWW-Authenticate`: what a client needs in order to get the token that it lacks.
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
    value === undefined ? [] : [`${name}=${quoted(value)}`],
  );
  return written.length === 0 ? 'Bearer' : `Bearer ${written.join(', ')}`;
}

/** A quoted string of RFC 9110, 5.6.4; what no header may contain becomes `?`. */
function quoted(value: string): string {
  return `"${value.replaceAll(/[^\x20-\x7E]/g, '?').replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** A token may name so many that the header would be too long for its reader. */
const maxGranted = 50;

/**
 * The scopes to ask for in place of those that a principal has: these, and what the operation needs.
 * Clients of 2025-11-25 ask for what they are told and would lose the others. `offline_access` is
 * not asked for: a resource does not have that scope.
 */
function stepUpScopes({ scopes }: Principal, needed: readonly string[]): readonly string[] {
  const kept = scopes.filter((scope) => isScope(scope) && scope !== 'offline_access');
  return [...new Set([...needed, ...kept.slice(0, maxGranted)])];
}
