/** Bodies of answers, read up to a bound. */
import { discard } from './response.ts';
import type { HttpResponse } from './response.ts';

/** What was read of a body. `broken`: the connection has ended before it did. */
export type BodyReading =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'too-long'; readonly begin: string }
  | { readonly kind: 'broken'; readonly begin: string; readonly error: unknown };

/** Reads all of a body; its byte order mark is no part of it. What is longer is not waited for. */
export async function readBody(response: HttpResponse, maxBytes: number): Promise<BodyReading> {
  const { body } = response;
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  try {
    for (let chunk = await body.read(); !chunk.done; chunk = await body.read()) {
      bytes += chunk.value.byteLength;
      parts.push(decoder.decode(chunk.value, { stream: true }));
      if (bytes > maxBytes) {
        await discard(response);
        return { kind: 'too-long', begin: parts.join('') };
      }
    }
  } catch (error) {
    return { kind: 'broken', begin: parts.join(''), error };
  }
  parts.push(decoder.decode());
  return { kind: 'whole', text: parts.join('') };
}

/** How much of the body of a refusal is read, bytes. It may hold an error with data. */
const maxRefusalBytes = 64 * 1024;

/** The text of a refusal, or the beginning of it. */
export async function refusalOf(response: HttpResponse): Promise<string> {
  const reading = await readBody(response, maxRefusalBytes);
  return reading.kind === 'whole' ? reading.text : reading.begin;
}

/** The media type of an answer, without parameters; empty if it says none. */
export function mediaTypeOf(response: HttpResponse): string {
  return (response.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}
