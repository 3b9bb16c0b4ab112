/**
 * Elicitation: asks the user to fill in a form or to open a URL, and parses the answer.
 *
 * @see MCP 2025-11-25, client/elicitation, "Response Actions"
 */
import { BoundedMap } from '../../protocol/bounded-map.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { UrlElicitation } from '../../protocol/dialects/dialect.ts';
import { ErrorCode, ProtocolError, RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { Form } from '../../../packages/schema/src/forms/form.ts';

/**
 * Answer to a form. `decline`: the user refused. `cancel`: the user dismissed the form, so the handler
 * may ask again later.
 */
export type FormAnswer<TContent> =
  | { readonly action: 'accept'; readonly content: TContent }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/**
 * URL for the user to open, for secrets, payments and authorization that must not pass through the
 * client.
 */
export interface UrlRequest {
  /** Explains to the user why to open the URL. */
  readonly message: string;
  /**
   * Absolute URL, or a function that creates it from the elicitation id. Anyone who has the URL can
   * open it, so it must not contain secrets of the user or grant access.
   */
  readonly url: string | URL | ((elicitationId: string) => string | URL);
}

/**
 * Answer to a URL elicitation. `accept` is only consent. Call `session.elicitationCompleted` when the
 * user has finished.
 */
export interface UrlAnswer {
  /** The user's choice; `cancel` if the question was dismissed. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /** Elicitation id for `session.elicitationCompleted`. */
  readonly elicitationId: string;
}

/**
 * Error `-32042`: the user must open some URLs before the request can be served. Create it with
 * `context.urlElicitationRequired`, which checks the client's capability, and throw it.
 *
 * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
 */
export class UrlElicitationRequired extends ProtocolError {
  /** URLs that the user must open. */
  readonly elicitations: readonly UrlElicitation[];

  constructor(elicitations: readonly UrlElicitation[], message: string) {
    super(ErrorCode.urlElicitationRequired, message, { elicitations });
    this.elicitations = elicitations;
  }
}

/**
 * Creates the params of a URL elicitation.
 *
 * @param elicitationId unguessable id
 * @throws {TypeError} if the URL is not absolute or contains credentials
 */
export function urlElicitation(
  { message, url }: UrlRequest,
  elicitationId: string,
): UrlElicitation {
  const given = typeof url === 'function' ? url(elicitationId) : url;
  if (!URL.canParse(String(given))) {
    throw new TypeError(
      `"url" of an elicitation must be an absolute URL, got ${inspectValue(given)}`,
    );
  }
  const { href, username, password } = new URL(given);
  if (username !== '' || password !== '') {
    throw new TypeError('"url" of an elicitation must not contain a user name or a password');
  }
  return { mode: 'url', elicitationId, url: href, message };
}

const actions = ['accept', 'decline', 'cancel'] as const;

/**
 * Parses the user's choice.
 *
 * @throws {RuntimeError} INVALID_RESPONSE
 */
export function readAction({ action }: JsonObject): UrlAnswer['action'] {
  const known = actions.find((each) => each === action);
  if (known !== undefined) return known;
  throw invalid(`"action" must be one of ${actions.join(', ')}, got ${inspectValue(action)}`);
}

/**
 * Parses the answer to a form. The content is validated only for `accept`.
 *
 * @throws {RuntimeError} INVALID_RESPONSE with the problem
 */
export async function readFormAnswer<TContent>(
  result: JsonObject,
  form: Form<TContent>,
): Promise<FormAnswer<TContent>> {
  const action = readAction(result);
  if (action !== 'accept') return { action };
  // Clients may omit the content of a form without fields.
  const { content = {} } = result;
  if (!isJsonObject(content)) {
    throw invalid(`"content" must be an object, got ${inspectValue(content)}`);
  }
  return { action, content: await form.read(content) };
}

/** A problem with an answer to a form; undefined if valid. */
export async function validateFormAnswer(
  answer: JsonObject,
  form: Form<unknown>,
): Promise<string | undefined> {
  try {
    await readFormAnswer(answer, form);
    return undefined;
  } catch (error) {
    if (error instanceof RuntimeError) return `is invalid: ${error.message}`;
    throw error;
  }
}

function invalid(fault: string): RuntimeError {
  const message = `The client's result of elicitation/create is malformed: ${fault}`;
  return new RuntimeError('INVALID_RESPONSE', message);
}

/** Maximum number of open elicitations per session; many are never completed. */
const maxOpen = 1024;

/**
 * Open URL elicitations of one session. Only the client that received an elicitation is notified of its
 * completion.
 *
 * @see MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"
 */
export class OpenElicitations {
  readonly #ids = new BoundedMap<string, true>(maxOpen);

  add(elicitationId: string): void {
    this.#ids.set(elicitationId, true);
  }

  /** Closes an elicitation. @returns false if it was not open */
  close(elicitationId: string): boolean {
    return this.#ids.delete(elicitationId);
  }
}
