/** Requests to an authorization server: bounded in time and size, never redirected. */
import { isJsonObject } from '../../protocol/classify.ts';
import { textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';

/** How long all that one token needs of the authorization server may take, and how long one answer may be. */
export interface FetchBounds {
  readonly signal: AbortSignal;
  readonly maxDocumentBytes: number;
}

/**
 * Fetches a JSON object.
 *
 * @throws {Error} it could not be had, or is no JSON object, or too long; the message names the URL
 */
export async function fetchJson(
  url: string,
  { signal, maxDocumentBytes }: FetchBounds,
  post?: { readonly headers: Record<string, string>; readonly body: URLSearchParams },
): Promise<JsonObject> {
  try {
    const response = await fetch(url, {
      ...(post ? { method: 'POST', body: post.body } : {}),
      headers: { accept: 'application/json', ...post?.headers },
      // Another address is one that nobody has configured.
      redirect: 'manual',
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the status is ${response.status}`);
    }
    const body: unknown = JSON.parse(await textOf(response, maxDocumentBytes));
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
export function faultOfTrustedUrl(text: unknown): string | undefined {
  const url = typeof text === 'string' ? urlOf(text) : undefined;
  if (!url) return 'must be an absolute URL';
  if (url.username || url.password) return 'must be without credentials';
  if (url.hash) return 'must be without a fragment';
  if (url.protocol === 'https:') return undefined;
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && isLoopback) return undefined;
  return 'must begin with https:// (http:// on loopback alone)';
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
