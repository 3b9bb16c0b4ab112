/** Bodies of answers, read up to a bound. */
import { discard } from './response.ts';
import type { HttpResponse } from './response.ts';

/** What was read of a body. `broken`: the connection has ended before it did. */
export type BodyReading =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'too-long'; readonly begin: string }
  | { readonly kind: 'broken'; readonly begin: string; readonly error: unknown };

/** One for all: a decoder of a stream's pieces would be made anew for each body. */
const decoder = new TextDecoder();

/** Reads all of a body; its byte order mark is no part of it. What is longer is not waited for. */
export async function readBody(response: HttpResponse, maxBytes: number): Promise<BodyReading> {
  const { body } = response;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (let piece = await body.read(); !piece.done; piece = await body.read()) {
      bytes += piece.value.byteLength;
      pieces.push(piece.value);
      if (bytes > maxBytes) {
        await discard(response);
        return { kind: 'too-long', begin: textOf(pieces, bytes) };
      }
    }
  } catch (error) {
    return { kind: 'broken', begin: textOf(pieces, bytes), error };
  }
  return { kind: 'whole', text: textOf(pieces, bytes) };
}

function textOf(pieces: readonly Uint8Array[], bytes: number): string {
  const [first = nothing] = pieces;
  if (pieces.length < 2) return decoder.decode(first);
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return decoder.decode(whole);
}

const nothing = new Uint8Array();

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
