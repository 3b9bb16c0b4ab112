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
export function metadataUrlOf(resource: string): string {
  const { origin, pathname, search } = new URL(resource);
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}${search}`;
}

/** The paths under which the metadata is served: with the resource's path inserted, and at the root. */
export function metadataPathsOf(resource: string): readonly string[] {
  return [...new Set([new URL(metadataUrlOf(resource)).pathname, wellKnown])];
}
