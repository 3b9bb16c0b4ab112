/** Requests to an authorization server: limited in time and size, never redirected. */
import { isJsonObject, inspectValue } from '../../../../src/protocol/classify.ts';
import { textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { isLoopback } from '../../../../src/protocol/oauth.ts';

/** Limits shared by all requests that one token check needs. */
export interface FetchBounds {
  readonly signal: AbortSignal;
  readonly maxDocumentBytes: number;
}

/** A form request. */
export interface FormPost {
  readonly headers: Record<string, string>;
  readonly body: URLSearchParams;
}

/** A response with any status. */
export interface JsonAnswer {
  readonly status: number;
  /** Undefined unless the body is a JSON object. */
  readonly body: JsonObject | undefined;
}

/**
 * Posts a form and reads the response whatever its status.
 *
 * @throws {Error} if there is no response or it is too long; the message names the URL
 */
export async function postForm(
  url: string,
  bounds: FetchBounds,
  post: FormPost,
): Promise<JsonAnswer> {
  try {
    const response = await send(url, bounds, post);
    const text = await textOf(response, bounds.maxDocumentBytes);
    return { status: response.status, body: parseObject(text) };
  } catch (error) {
    throw new Error(`No response from ${url}: ${reasonOf(error)}`, { cause: error });
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function send(url: string, { signal }: FetchBounds, post?: FormPost): Promise<Response> {
  return fetch(url, {
    ...(post ? { method: 'POST', body: post.body } : {}),
    headers: { accept: 'application/json', ...post?.headers },
    // Only the configured address is trusted.
    redirect: 'manual',
    signal,
  });
}

/**
 * Fetches a JSON object.
 *
 * @throws {Error} if there is no response, it is too long or not a JSON object; the message names
 *   the URL
 */
export async function fetchJson(
  url: string,
  bounds: FetchBounds,
  post?: FormPost,
): Promise<JsonObject> {
  try {
    const response = await send(url, bounds, post);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`status ${response.status}`);
    }
    const body: unknown = JSON.parse(await textOf(response, bounds.maxDocumentBytes));
    if (!isJsonObject(body)) throw new Error('the body must be a JSON object');
    return body;
  } catch (error) {
    throw new Error(`No usable response from ${url}: ${reasonOf(error)}`, { cause: error });
  }
}

async function textOf({ body }: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  // Leaving the loop cancels the body.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new RangeError(`the body is longer than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** `fetch` rejects with "fetch failed" and the reason as its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof TypeError ? error.cause : undefined;
  return textOfError(cause ?? error);
}

/**
 * Validates the URL of a trusted party.
 *
 * @returns a predicate that describes the problem; undefined if the URL is valid
 */
export function validateTrustedUrl(text: unknown): string | undefined {
  const url = typeof text === 'string' ? parseUrl(text) : undefined;
  if (!url) return 'must be an absolute URL';
  if (url.username || url.password) return 'must not contain credentials';
  if (url.hash) return 'must not contain a fragment';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && isLoopback(url)) return undefined;
  return 'must start with https:// (http:// only for loopback)';
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Candidate URLs of an issuer's metadata, in the order clients try them. */
function metadataUrlsOf(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === ''
    ? inserted
    : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/**
 * Reads an endpoint URL from an issuer's metadata.
 *
 * @param member metadata member, a URL
 * @throws {Error} if no metadata has a trustworthy URL; the message lists every attempt
 * @see RFC 8414, 3; OpenID Connect Discovery 1.0, 4
 */
export async function endpointOf(
  issuer: string,
  member: 'jwks_uri' | 'introspection_endpoint' | 'token_endpoint',
  bounds: FetchBounds,
): Promise<string> {
  const failures: string[] = [];
  for (const url of metadataUrlsOf(issuer)) {
    try {
      return readMember(await fetchJson(url, bounds), issuer, member, url);
    } catch (error) {
      failures.push(textOfError(error));
    }
  }
  throw new Error(
    `No metadata of the issuer ${issuer} has a valid ${member}: ${failures.join('; ')}`,
  );
}

function readMember(body: JsonObject, issuer: string, member: string, url: string): string {
  // Metadata of another issuer may come from an attacker.
  if (body['issuer'] !== issuer) {
    throw new Error(
      `the issuer in ${url} must be this issuer, got ${inspectValue(body['issuer'])}`,
    );
  }
  const value = body[member];
  const fault = validateTrustedUrl(value);
  if (fault === undefined) return value as string;
  throw new Error(`"${member}" of ${url} ${fault}, got ${inspectValue(value)}`);
}
