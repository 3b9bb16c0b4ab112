/** Discovery and security checks of a resource's authorization server. */
import type { TokenDemand } from './authorization.machine.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { Grants } from './grants.ts';
import { assertTrusted } from './guarded-fetch.ts';
import type { Fetch } from './guarded-fetch.ts';
import { refusedAuthorization } from './sdk-auth.ts';
import type { SdkAuth } from './sdk-auth.ts';
import type { PersonAuth } from './options.ts';

/** Discovery result of the official client. */
export type Discovered = Awaited<ReturnType<SdkAuth['discoverOAuthServerInfo']>>;

/** A URL in the authorization server's metadata that the official client does not parse. */
export function otherEndpoint(
  metadata: Discovered['authorizationServerMetadata'],
  name: 'device_authorization_endpoint' | 'revocation_endpoint',
): string | undefined {
  const value = (metadata as { readonly [name: string]: unknown } | undefined)?.[name];
  return typeof value === 'string' && URL.canParse(value) ? value : undefined;
}

/** Issuer under which credentials are stored. */
export function issuerOf({ authorizationServerMetadata, authorizationServerUrl }: Discovered) {
  return authorizationServerMetadata?.issuer ?? authorizationServerUrl;
}

/**
 * Discovers the authorization server of an MCP server.
 *
 * @param resourceMetadataUrl URL of the metadata, from the server's challenge
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
 * Treats responses that are not JSON objects as 404, so that discovery tries the next location:
 * many servers answer any path with a page. Null members count as absent.
 */
export function metadataFetch(fetchFn: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetchFn(url, init);
    // Metadata are fetched with GET; requests with a body go to endpoints.
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
    return undefined;
  }
}

/** Scopes to request: those of the challenge, else of the metadata, else of the options. */
export function scopeFor(
  { scope }: TokenDemand,
  { resourceMetadata }: Discovered,
  options: Pick<PersonAuth, 'scope'>,
): string | undefined {
  return scope ?? (resourceMetadata?.scopes_supported?.join(' ') || options.scope);
}

/**
 * Checks that the metadata describe this server, and that each endpoint may receive secrets.
 *
 * @throws {RefusedAuthorization} the metadata belong to another resource
 * @throws {RuntimeError} UNAUTHORIZED: an endpoint is not trusted
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
      `The metadata of ${server.origin} are for ${resource}: tokens of another resource are not sent`,
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
    'The server requires a token but names no authorization server: get a token from its operator and send it as a header',
  );
}

/**
 * A person's login requires PKCE with S256. The official client proceeds if the metadata do not
 * mention it; the specification forbids that.
 *
 * @throws {RefusedAuthorization} the metadata are missing or do not list S256
 * @see MCP 2025-11-25, basic/authorization, "Authorization Code Protection"
 */
export function assertProtectsCodes(found: Discovered): void {
  const metadata = found.authorizationServerMetadata;
  assertNamed(found);
  if (metadata?.code_challenge_methods_supported?.includes('S256')) return;
  throw refusedAuthorization(
    'unsafe',
    `The authorization server ${issuerOf(found)} ${metadata ? 'does not announce PKCE with S256' : 'has no metadata'}: the login code could be stolen`,
  );
}

/**
 * Credentials given by the host belong to one issuer: `issuer`, or the first one used with this
 * client id.
 *
 * @throws {RefusedAuthorization} this issuer is a different one
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
    `The server names the authorization server ${issuer}, but the configured credentials are for ${only} ("issuer")`,
  );
}
