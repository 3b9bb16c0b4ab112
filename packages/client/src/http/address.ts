/** Validates the address of a server over HTTP before anything is sent. */
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { quoted } from '../../../../src/protocol/printable.ts';

/** A server reached over HTTP. */
export interface HttpEntry {
  /** `sse`: the transport of 2024-11-05. Default: Streamable HTTP, with `sse` as the fallback. */
  readonly type?: 'http' | 'streamable-http' | 'sse';
  readonly url: string;
  /** Sent with each request to the URL's origin, and to no other. */
  readonly headers?: { readonly [name: string]: string };
}

/** A validated entry. */
export interface HttpAddress {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Transport to try first. */
  readonly transport: 'streamable' | 'sse';
}

/**
 * Validates an entry.
 *
 * @param allowInsecure allows `http:` beyond loopback
 * @throws {RuntimeError} CONFIG_INVALID: names the problem, never a header's value
 */
export function addressOf(entry: HttpEntry, allowInsecure = false): HttpAddress {
  const url = urlOf(entry.url);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(entry.headers ?? {})) {
    if (!isHeader(name, value)) {
      throw invalid(`headers: ${quoted(name)} must be a valid HTTP header name and value`);
    }
    headers[name.toLowerCase()] = value;
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw invalid(
      `url: ${placeOf(url)} is not encrypted: use https:, or set allowInsecure on a trusted network`,
    );
  }
  return { url, headers, transport: entry.type === 'sse' ? 'sse' : 'streamable' };
}

function urlOf(text: unknown): URL {
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw invalid(`url: must be an absolute URL, got ${quoted(String(text))}`);
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalid(`url: must use https: or http:, got ${url.protocol}`);
  }
  if (url.username || url.password) {
    throw invalid('url: must not contain a user or password; use a header');
  }
  url.hash = '';
  return url;
}

function isHeader(name: string, value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

function isLoopback(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** URL for error messages: without its query, which may contain secrets. */
export function placeOf({ origin, pathname }: URL): string {
  return origin + pathname;
}

function invalid(message: string): RuntimeError {
  return new RuntimeError('CONFIG_INVALID', message);
}
