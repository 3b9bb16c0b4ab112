/** Requests to authorization servers: only over https, bounded in time and size. */
import { timeoutSignal } from '../../../../src/actors/clock.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { isLoopback } from '../../../../src/protocol/oauth.ts';

/** How long one request may take, milliseconds. */
const requestMs = 30_000;
/** How long one answer may be. */
const maxBytes = 256 * 1024;

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Checks a URL before secrets are sent to it. A remote server must not direct a host to its own
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
    `${what} is ${url.protocol}//${url.host}: no secret is sent there, it must begin with https:// (http:// on loopback alone)`,
  );
}

/**
 * A `fetch` for the login at this server. It does not follow redirects by itself.
 *
 * @throws {RuntimeError} UNAUTHORIZED: the URL cannot be trusted, or its answer is too long
 */
export function guardedFetch(server: URL, signal?: AbortSignal): Fetch {
  return async (target, init) => {
    const url = new URL(target);
    assertTrusted(url, server, 'A URL that the login leads to');
    const response = await fetch(url, {
      ...init,
      signal: timeoutSignal(requestMs, signal),
    });
    return new Response(await bounded(response, url), response);
  };
}

/** The whole body; null if it is empty, which a status without a body wants. */
async function bounded({ body }: Response, url: URL): Promise<Blob | null> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // Leaving the loop cancels the rest.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    length += chunk.byteLength;
    if (length > maxBytes) {
      throw new RuntimeError(
        'UNAUTHORIZED',
        `${url.origin} has answered with more than ${maxBytes} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return length === 0 ? null : new Blob(chunks);
}
