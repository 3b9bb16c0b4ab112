/** An HTTP request and its response, independent of the HTTP client. */

export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Status and headers of a response, and its body reader. */
export interface HttpResponse {
  /** 0 if the platform hides a redirect. */
  readonly status: number;
  /** The value of a header. @param name in lower case */
  header(name: string): string | undefined;
  readonly body: BodyReader;
}

/** Reads a body chunk by chunk, as its only reader. */
export interface BodyReader {
  /** @throws {Error} the body was cut off; `cause` has the reason */
  read(): Promise<BodyPiece>;
  /** Discards the rest. Closes the connection, unless the whole body has arrived. */
  cancel(): Promise<void>;
}

export type BodyPiece =
  | { readonly done: true }
  | { readonly done: false; readonly value: Uint8Array };

/**
 * Sends a request, and resolves once the response headers have arrived. Does not follow redirects.
 *
 * @throws {Error} no response, or the signal fired; `cause` has the reason
 */
export type SendRequest = (request: HttpRequest) => Promise<HttpResponse>;

export function isOk({ status }: HttpResponse): boolean {
  return status >= 200 && status < 300;
}

/** Sends with the host's `fetch`, or the platform's. */
export function sendingBy(own: typeof fetch | undefined): SendRequest {
  return async ({ url, ...request }) => {
    // A host may replace the global `fetch` at any time.
    const send = own ?? fetch;
    const { status, headers, body } = await send(url, { ...request, redirect: 'manual' });
    return {
      status,
      header: (name) => headers.get(name) ?? undefined,
      body: (body?.getReader() as BodyReader | undefined) ?? empty,
    };
  };
}

const empty: BodyReader = {
  read: () => Promise.resolve({ done: true }),
  cancel: () => Promise.resolve(),
};

/** Discards an unread body. */
export async function discard({ body }: HttpResponse): Promise<void> {
  try {
    await body.cancel();
  } catch {
    // The body was cut off: nothing is left to release.
  }
}

/** Result of reading a body. `broken`: the connection ended before the body. */
export type BodyReading =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'too-long'; readonly begin: string }
  | { readonly kind: 'broken'; readonly begin: string; readonly error: unknown };

/** Shared: a streaming decoder would have to be created per body. */
const decoder = new TextDecoder();

/** Reads a whole body, without its byte order mark. Stops beyond `maxBytes`. */
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

/** Maximum bytes read of an error body, which may contain a JSON-RPC error with data. */
const maxRefusalBytes = 64 * 1024;

/** Text of an error body, or its beginning. */
export async function refusalOf(response: HttpResponse): Promise<string> {
  const reading = await readBody(response, maxRefusalBytes);
  return reading.kind === 'whole' ? reading.text : reading.begin;
}

/** Media type of a response, without parameters; empty if absent. */
export function mediaTypeOf(response: HttpResponse): string {
  return (response.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}
