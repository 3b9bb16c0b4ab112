/**
 * The access token of a request.
 *
 * @see RFC 6750, 2.1; MCP 2026-07-28, basic/authorization, "Token Requirements"
 */

/** What of an HTTP request authorization looks at. */
export interface RequestToAuthorize {
  /** Path and query, as they were sent. */
  readonly target: string;
  /** The address that it comes from, if the host knows it. */
  readonly remoteAddress?: string | undefined;
  /** @param name lower case */
  header(name: string): string | undefined;
}

export type PresentedToken =
  | { readonly kind: 'token'; readonly token: string }
  /** Neither a bearer token, nor anything that is meant for one. */
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly message: string };

/** Reads the token. What it says of a malformed one contains nothing of the request. */
export function presentedToken(request: RequestToAuthorize): PresentedToken {
  // Whether another one is in the header does not matter: this one is in logs and histories by now.
  if (hasTokenInQuery(request.target)) {
    const message = 'An access token must not be in the query; send it in the Authorization header';
    return { kind: 'malformed', message };
  }
  const value = request.header('authorization')?.trim() ?? '';
  const [scheme = '', ...credentials] = value.split(/ +/);
  if (scheme.toLowerCase() !== 'bearer') return { kind: 'none' };
  const [token = '', ...more] = credentials;
  if (more.length === 0 && /^[A-Za-z0-9\-._~+/]+=*$/.test(token)) return { kind: 'token', token };
  const message = 'The Authorization header must be "Bearer", a space and one access token';
  return { kind: 'malformed', message };
}

function hasTokenInQuery(target: string): boolean {
  const at = target.indexOf('?');
  return at !== -1 && new URLSearchParams(target.slice(at)).has('access_token');
}
