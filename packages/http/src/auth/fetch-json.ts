/** Requests to an authorization server: bounded in time and size, never redirected. */
import { isJsonObject, inspectValue } from '../../../../src/protocol/classify.ts';
import { textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { isLoopback } from '../../../../src/protocol/oauth.ts';

/** How long all that one token needs of the authorization server may take, and how long one answer may be. */
export interface FetchBounds {
  readonly signal: AbortSignal;
  readonly maxDocumentBytes: number;
}

/** A request with a form. */
export interface FormPost {
  readonly headers: Record<string, string>;
  readonly body: URLSearchParams;
}

/** An answer of any status. */
export interface JsonAnswer {
  readonly status: number;
  /** Undefined if it is not a JSON object. */
  readonly body: JsonObject | undefined;
}

/**
 * Sends a form, and reads the answer whatever its status.
 *
 * @throws {Error} the answer did not come, or is too long; the message names the URL
 */
export async function postForm(
  url: string,
  bounds: FetchBounds,
  post: FormPost,
): Promise<JsonAnswer> {
  try {
    const response = await send(url, bounds, post);
    const text = await textOf(response, bounds.maxDocumentBytes);
    return { status: response.status, body: objectIn(text) };
  } catch (error) {
    throw new Error(`${url} gave no answer: ${reasonOf(error)}`, { cause: error });
  }
}

function objectIn(text: string): JsonObject | undefined {
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
    // Another address was not configured.
    redirect: 'manual',
    signal,
  });
}

/**
 * Fetches a JSON object.
 *
 * @throws {Error} the answer did not come, is too long, or is not a JSON object; the message names the URL
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
      throw new Error(`the status is ${response.status}`);
    }
    const body: unknown = JSON.parse(await textOf(response, bounds.maxDocumentBytes));
    if (!isJsonObject(body)) throw new Error('it is no JSON object');
    return body;
  } catch (error) {
    throw new Error(`${url} gave no answer to use: ${reasonOf(error)}`, { cause: error });
  }
}

async function textOf({ body }: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  // Leaving the loop cancels the rest.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new RangeError(`it is longer than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** `fetch` fails with "fetch failed", and has the reason as the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof TypeError ? error.cause : undefined;
  return textOfError(cause ?? error);
}

/** @returns what is wrong with the URL of something that is trusted; undefined if nothing is */
export function validateTrustedUrl(text: unknown): string | undefined {
  const url = typeof text === 'string' ? urlOf(text) : undefined;
  if (!url) return 'must be an absolute URL';
  if (url.username || url.password) return 'must be without credentials';
  if (url.hash) return 'must be without a fragment';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && isLoopback(url)) return undefined;
  return 'must begin with https:// (http:// on loopback alone)';
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Where an issuer's metadata may be, in the order in which clients look. */
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
 * Asks an issuer where it has something: its metadata says so.
 *
 * @param member of its metadata, a URL
 * @throws {Error} it says nothing, or something that must not be trusted; the message has each place
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
  throw new Error(`The issuer ${issuer} does not say its ${member}: ${failures.join('; ')}`);
}

function readMember(body: JsonObject, issuer: string, member: string, url: string): string {
  // A document of another issuer may come from an attacker.
  if (body['issuer'] !== issuer) {
    throw new Error(
      `${url} is the metadata of ${inspectValue(body['issuer'])}, not of this issuer`,
    );
  }
  const value = body[member];
  const fault = validateTrustedUrl(value);
  if (fault === undefined) return value as string;
  throw new Error(`"${member}" of ${url} ${fault}, this is ${inspectValue(value)}`);
}
