/** The address of a server over HTTP, checked before anything is sent. */
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { quoted } from '../../../../src/protocol/printable.ts';

/** A server that is reached over HTTP. */
export interface HttpEntry {
  /** `sse`: the transport of 2024-11-05. By default Streamable HTTP, with `sse` as the fallback. */
  readonly type?: 'http' | 'streamable-http' | 'sse';
  readonly url: string;
  /** Sent with each request to the URL's origin, and to no other. */
  readonly headers?: { readonly [name: string]: string };
}

/** A checked entry. */
export interface HttpAddress {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Which transport is tried first. */
  readonly transport: 'streamable' | 'sse';
}

/**
 * Checks an entry.
 *
 * @param allowInsecure whether `http:` is allowed beyond loopback
 * @throws {RuntimeError} CONFIG_INVALID: names what is wrong, never a header's value
 */
export function addressOf(entry: HttpEntry, allowInsecure = false): HttpAddress {
  const url = urlOf(entry.url);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(entry.headers ?? {})) {
    if (!isHeader(name, value)) {
      throw invalid(`headers: ${quoted(name)} cannot be sent: its name or its value is no header`);
    }
    headers[name.toLowerCase()] = value;
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw invalid(
      `url: ${placeOf(url)} is not encrypted. Use https:, or set allowInsecure if nobody else is on the way`,
    );
  }
  return { url, headers, transport: entry.type === 'sse' ? 'sse' : 'streamable' };
}

function urlOf(text: unknown): URL {
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw invalid(`url: must be an absolute URL, this is ${quoted(String(text))}`);
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalid(`url: must begin with https: or http:, this one begins with ${url.protocol}`);
  }
  if (url.username || url.password) {
    throw invalid('url: must be without user and password; a header can hold them');
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

/** A URL for an error: without its query, where secrets may be. */
export function placeOf({ origin, pathname }: URL): string {
  return origin + pathname;
}

function invalid(message: string): RuntimeError {
  return new RuntimeError('CONFIG_INVALID', message);
}
