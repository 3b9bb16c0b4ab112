/** An HTTP request and the answer to it, whichever way it is sent. */

export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** The head of an answer, and the way to its body. */
export interface HttpResponse {
  /** 0 if the platform hides a redirection. */
  readonly status: number;
  /** The value of a header. @param name in lower case */
  header(name: string): string | undefined;
  readonly body: BodyReader;
}

/** Reads a body piece by piece, as one who alone reads it. */
export interface BodyReader {
  /** @throws {Error} it broke; its `cause` says why */
  read(): Promise<BodyPiece>;
  /** Nobody reads the rest. Unless all of it is there, that ends the connection which it came on. */
  cancel(): Promise<void>;
}

export type BodyPiece =
  | { readonly done: true }
  | { readonly done: false; readonly value: Uint8Array };

/**
 * Sends a request, and gives its answer once the head is there. Follows no redirection.
 *
 * @throws {Error} there is no answer, or the signal has fired; its `cause` says why
 */
export type SendRequest = (request: HttpRequest) => Promise<HttpResponse>;

export function isOk({ status }: HttpResponse): boolean {
  return status >= 200 && status < 300;
}

/** Sends with a `fetch` of the host's, or the platform's. */
export function sendingBy(send: typeof fetch): SendRequest {
  return async ({ url, ...request }) => {
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

/** Lets go of a body that nobody reads. */
export async function discard({ body }: HttpResponse): Promise<void> {
  try {
    await body.cancel();
  } catch {
    // It broke: there is nothing left of it to let go of.
  }
}
