/** Which authorization server a resource names, and whether a host may trust it. */
import type { TokenDemand } from './authorization.machine.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { Grants } from './grants.ts';
import { assertTrusted } from './guarded-fetch.ts';
import type { Fetch } from './guarded-fetch.ts';
import { refusedAuthorization } from './sdk-auth.ts';
import type { SdkAuth } from './sdk-auth.ts';
import type { PersonAuth } from './options.ts';

/** What the official client finds. */
export type Discovered = Awaited<ReturnType<SdkAuth['discoverOAuthServerInfo']>>;

/** A member of an authorization server's metadata that the official client does not read. */
export function otherEndpoint(
  metadata: Discovered['authorizationServerMetadata'],
  name: 'device_authorization_endpoint' | 'revocation_endpoint',
): string | undefined {
  const value = (metadata as { readonly [name: string]: unknown } | undefined)?.[name];
  return typeof value === 'string' && URL.canParse(value) ? value : undefined;
}

/** The issuer under which credentials are stored. */
export function issuerOf({ authorizationServerMetadata, authorizationServerUrl }: Discovered) {
  return authorizationServerMetadata?.issuer ?? authorizationServerUrl;
}

/**
 * Finds the authorization server of this server.
 *
 * @param resourceMetadataUrl where the server says that its metadata are
 * @throws {RefusedAuthorization | RuntimeError} see {@link assertItsOwn}
 */
export async function discover(
  { official, server }: { readonly official: SdkAuth; readonly server: URL },
  resourceMetadataUrl: string | undefined,
  fetchFn: Fetch,
): Promise<Discovered> {
  const found = await official.discoverOAuthServerInfo(server, {
    fetchFn: metadataFetch(fetchFn),
    resourceMetadataUrl:
      resourceMetadataUrl === undefined ? undefined : new URL(resourceMetadataUrl),
  });
  assertItsOwn(found, server, official);
  return found;
}

/**
 * Answers that are no JSON object count as missing, so the next place is tried: many servers answer
 * any path with a page. A member that is null is absent.
 */
export function metadataFetch(fetchFn: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetchFn(url, init);
    // Forms are sent to endpoints, metadata are fetched.
    if (!response.ok || init?.body !== undefined) return response;
    const body = jsonIn(await response.text());
    if (!isJsonObject(body)) return new Response(null, { status: 404 });
    return Response.json(
      Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)),
      { status: response.status },
    );
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON.
    return undefined;
  }
}

/** The scopes to ask for: those that the server wants, those that it names, or those that the host gives. */
export function scopeFor(
  { scope }: TokenDemand,
  { resourceMetadata }: Discovered,
  options: Pick<PersonAuth, 'scope'>,
): string | undefined {
  return scope ?? (resourceMetadata?.scopes_supported?.join(' ') || options.scope);
}

/**
 * Checks that the metadata are for this server, and that each endpoint may be trusted with secrets.
 *
 * @throws {RefusedAuthorization} the metadata belong to another resource
 * @throws {RuntimeError} UNAUTHORIZED: an endpoint is not to be trusted
 */
export function assertItsOwn(found: Discovered, server: URL, official: SdkAuth): void {
  const resource = found.resourceMetadata?.resource;
  const requestedResource = official.resourceUrlFromServerUrl(server);
  if (
    resource !== undefined &&
    !official.checkResourceAllowed({ requestedResource, configuredResource: resource })
  ) {
    throw refusedAuthorization(
      'unsafe',
      `The server ${server.origin} says that it is ${resource}: no token of another resource is sent to it`,
    );
  }
  const metadata = found.authorizationServerMetadata;
  for (const [name, url] of [
    ['authorization server', found.authorizationServerUrl],
    ['authorization endpoint', metadata?.authorization_endpoint],
    ['token endpoint', metadata?.token_endpoint],
    ['registration endpoint', metadata?.registration_endpoint],
  ] as const) {
    if (url !== undefined) assertTrusted(new URL(url), server, `The ${name}`);
  }
}

/** @throws {RefusedAuthorization} the server does not name an authorization server */
export function assertNamed(found: Discovered): void {
  if (found.resourceMetadata || found.authorizationServerMetadata) return;
  throw refusedAuthorization(
    'unsafe',
    'The server wants a token, and names no authorization server: ask whoever runs it for a token, and send it as a header',
  );
}

/**
 * A person's login needs PKCE with S256. The official client goes on if the metadata do not say; the
 * specification forbids that.
 *
 * @throws {RefusedAuthorization} the metadata do not say so, or there are none
 * @see MCP 2025-11-25, basic/authorization, "Authorization Code Protection"
 */
export function assertProtectsCodes(found: Discovered): void {
  const metadata = found.authorizationServerMetadata;
  assertNamed(found);
  if (metadata?.code_challenge_methods_supported?.includes('S256')) return;
  throw refusedAuthorization(
    'unsafe',
    `The authorization server ${issuerOf(found)} ${metadata ? 'does not say that it supports PKCE with S256' : 'has no metadata'}: a login there could be stolen`,
  );
}

/**
 * What the host gives, a client or an issuer, is for one issuer alone: the one that it gives, or the
 * first one that this client was for.
 *
 * @throws {RefusedAuthorization} this is another one
 */
export async function assertIssuer(
  issuer: string,
  { clientId, issuer: given }: Pick<PersonAuth, 'clientId' | 'issuer'>,
  grants: Grants,
): Promise<void> {
  const pinned = async () =>
    clientId === undefined ? issuer : grants.pinnedIssuer(clientId, issuer);
  const only = given ?? (await pinned());
  if (only === issuer) return;
  throw refusedAuthorization(
    'unsafe',
    `The server names the authorization server ${issuer}; what the host gives is for ${only} alone ("issuer")`,
  );
}
