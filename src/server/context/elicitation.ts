/**
 * Asks a person to fill in a form or to open a URL, and reads the answer.
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
 * The answer to a form. `decline` is a refusal. `cancel` means that nobody chose: the handler may
 * ask again later.
 */
export type FormAnswer<TContent> =
  | { readonly action: 'accept'; readonly content: TContent }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/**
 * A URL for a person to open: for secrets, payments and authorization, which must not pass through
 * the client.
 */
export interface UrlRequest {
  /** Tells the person why. */
  readonly message: string;
  /**
   * The URL, or a function that makes it from the elicitation's id. It must contain no secrets of
   * the user and must not grant access by itself: anyone who has it can open it.
   */
  readonly url: string | URL | ((elicitationId: string) => string | URL);
}

/**
 * The answer to a URL. `accept` is consent only; `session.elicitationCompleted` tells the client
 * that the person is done.
 */
export interface UrlAnswer {
  /** What the person chose; `cancel` if they chose nothing. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The id to tell the client with, once the person is done. */
  readonly elicitationId: string;
}

/**
 * The error `-32042`: the request can be served once a person has opened these URLs. Get one from
 * `context.urlElicitationRequired`, which checks that the client supports it, and throw it.
 *
 * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
 */
export class UrlElicitationRequired extends ProtocolError {
  /** The URLs that a person has to open first. */
  readonly elicitations: readonly UrlElicitation[];

  constructor(elicitations: readonly UrlElicitation[], message: string) {
    super(ErrorCode.urlElicitationRequired, message, { elicitations });
    this.elicitations = elicitations;
  }
}

/**
 * Makes an elicitation.
 *
 * @param elicitationId unguessable
 * @throws {TypeError} the URL is not absolute, or contains a user name or a password
 */
export function urlElicitation(
  { message, url }: UrlRequest,
  elicitationId: string,
): UrlElicitation {
  const given = typeof url === 'function' ? url(elicitationId) : url;
  if (!URL.canParse(String(given))) {
    throw new TypeError(`A URL elicitation needs an absolute URL, this is ${inspectValue(given)}`);
  }
  const { href, username, password } = new URL(given);
  if (username !== '' || password !== '') {
    throw new TypeError('The URL of an elicitation must not hold a user name or a password');
  }
  return { mode: 'url', elicitationId, url: href, message };
}

const actions = ['accept', 'decline', 'cancel'] as const;

/**
 * Reads what the person chose.
 *
 * @throws {RuntimeError} INVALID_RESPONSE
 */
export function readAction({ action }: JsonObject): UrlAnswer['action'] {
  const known = actions.find((each) => each === action);
  if (known !== undefined) return known;
  throw invalid(`"action" must be one of ${actions.join(', ')}; this is ${inspectValue(action)}`);
}

/**
 * Reads the answer to a form. The content is read only if the person accepted.
 *
 * @throws {RuntimeError} INVALID_RESPONSE saying what is wrong
 */
export async function readFormAnswer<TContent>(
  result: JsonObject,
  form: Form<TContent>,
): Promise<FormAnswer<TContent>> {
  const action = readAction(result);
  if (action !== 'accept') return { action };
  // A form without fields may come back without content.
  const { content = {} } = result;
  if (!isJsonObject(content)) {
    throw invalid(`"content" must be an object, this is ${inspectValue(content)}`);
  }
  return { action, content: await form.read(content) };
}

/** What is wrong with an answer to a form; undefined if nothing is. */
export async function validateFormAnswer(
  answer: JsonObject,
  form: Form<unknown>,
): Promise<string | undefined> {
  try {
    await readFormAnswer(answer, form);
    return undefined;
  } catch (error) {
    if (error instanceof RuntimeError) return `is refused: ${error.message}`;
    throw error;
  }
}

function invalid(fault: string): RuntimeError {
  const message = `The client's result of elicitation/create is malformed: ${fault}`;
  return new RuntimeError('INVALID_RESPONSE', message);
}

/** How many open elicitations are remembered: people forget most of what they are asked to open. */
const maxOpen = 1024;

/**
 * The URL elicitations of one session that are not completed yet. Only the client that was asked is
 * told of a completion.
 *
 * @see MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"
 */
export class OpenElicitations {
  readonly #ids = new BoundedMap<string, true>(maxOpen);

  add(elicitationId: string): void {
    this.#ids.set(elicitationId, true);
  }

  /** Closes one. Returns whether it was open. */
  close(elicitationId: string): boolean {
    return this.#ids.delete(elicitationId);
  }
}
