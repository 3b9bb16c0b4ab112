/** `fetch` for authorization servers: https only, bounded in time and size. */
import { timeoutSignal } from '../../../../src/actors/clock.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { isLoopback } from '../../../../src/protocol/oauth.ts';

/** Request timeout, ms. */
const requestMs = 30_000;
/** Maximum response size. */
const maxBytes = 256 * 1024;

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Checks a URL before secrets are sent to it. A remote server must not direct the client to its own
 * machine, so `http://` on loopback is allowed only if the server is on loopback too.
 *
 * @param what names the URL in the error
 * @throws {RuntimeError} UNAUTHORIZED
 */
export function assertTrusted(url: URL, server: URL, what: string): void {
  if (url.protocol === 'https:') return;
  if (url.protocol === 'http:' && isLoopback(url) && isLoopback(server)) return;
  throw new RuntimeError(
    'UNAUTHORIZED',
    `${what} must use https:// (or http:// on loopback), got ${url.protocol}//${url.host}: secrets are not sent there`,
  );
}

/**
 * A `fetch` for logins at this server. It follows no redirects.
 *
 * @throws {RuntimeError} UNAUTHORIZED: the URL is not trusted, or the response is too long
 */
export function guardedFetch(server: URL, signal?: AbortSignal): Fetch {
  return async (target, init) => {
    const url = new URL(target);
    assertTrusted(url, server, 'A URL of the login');
    const response = await fetch(url, {
      ...init,
      signal: timeoutSignal(requestMs, signal),
    });
    return new Response(await bounded(response, url), response);
  };
}

/** The whole body; null if empty, as required for statuses without a body. */
async function bounded({ body }: Response, url: URL): Promise<Blob | null> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // Leaving the loop cancels the rest.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    length += chunk.byteLength;
    if (length > maxBytes) {
      throw new RuntimeError(
        'UNAUTHORIZED',
        `The response of ${url.origin} exceeds ${maxBytes} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return length === 0 ? null : new Blob(chunks);
}
