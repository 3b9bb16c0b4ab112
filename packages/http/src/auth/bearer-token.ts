/**
 * The access token of a request.
 *
 * @see RFC 6750, 2.1; MCP 2026-07-28, basic/authorization, "Token Requirements"
 */

/** The parts of an HTTP request that authorization reads. */
export interface RequestToAuthorize {
  /** Path and query as sent. */
  readonly target: string;
  /** Client address, if known. */
  readonly remoteAddress?: string | undefined;
  /** @param name lower case */
  header(name: string): string | undefined;
}

export type PresentedToken =
  | { readonly kind: 'token'; readonly token: string }
  /** No bearer token, nor an attempt to send one. */
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly message: string };

/** Reads the token. Messages about a malformed one repeat nothing of the request. */
export function presentedToken(request: RequestToAuthorize): PresentedToken {
  // Rejected even if the header has a token, too: the one in the query is already in logs and
  // histories.
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
