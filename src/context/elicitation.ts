/**
 * What a person answers: a form, or whether to open a URL.
 *
 * @see MCP 2025-11-25, client/elicitation, "Response Actions"
 */
import { BoundedMap } from '../protocol/bounded-map.ts';
import { describe, isJsonObject } from '../protocol/classify.ts';
import { ErrorCode, ProtocolError, RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Form } from '../schema/forms/form.ts';

/** What came of a form. `decline` is a refusal, `cancel` means that nobody chose: it may be asked again later. */
export type FormAnswer<TContent> =
  | { readonly action: 'accept'; readonly content: TContent }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** Where a person is sent, for what must not pass through the client: secrets, payments, authorization. */
export interface UrlRequest {
  /** Why, for the person. */
  readonly message: string;
  /**
   * Where to, or what makes that of the elicitation's id. It must say nothing secret of the user and must not be authenticated by itself:
   * whoever has it may open it.
   */
  readonly url: string | URL | ((elicitationId: string) => string | URL);
}

/** What came of asking to open a URL. `accept` is a consent, not an end: that is told by `session.elicitationCompleted`. */
export interface UrlAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly elicitationId: string;
}

/** A {@link UrlRequest} as the client gets it. */
export interface UrlElicitation {
  readonly mode: 'url';
  readonly elicitationId: string;
  readonly url: string;
  readonly message: string;
}

/**
 * The answer `-32042`: the request can be served once a person has opened these URLs. Made by `context.urlElicitationRequired`, which knows whether
 * the client may get it; throw it.
 *
 * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
 */
export class UrlElicitationRequired extends ProtocolError {
  readonly elicitations: readonly UrlElicitation[];

  constructor(elicitations: readonly UrlElicitation[], message: string) {
    super(ErrorCode.urlElicitationRequired, message, { elicitations });
    this.elicitations = elicitations;
  }
}

/**
 * A request under an id that nobody can guess.
 *
 * @throws {TypeError} what is no URL, or holds a name or a password
 */
export function urlElicitation({ message, url }: UrlRequest): UrlElicitation {
  const elicitationId = crypto.randomUUID();
  const given = typeof url === 'function' ? url(elicitationId) : url;
  if (!URL.canParse(String(given))) {
    throw new TypeError(`A URL elicitation needs an absolute URL, this is ${describe(given)}`);
  }
  const { href, username, password } = new URL(given);
  if (username !== '' || password !== '') {
    throw new TypeError('The URL of an elicitation must not hold a user name or a password');
  }
  return { mode: 'url', elicitationId, url: href, message };
}

const actions = ['accept', 'decline', 'cancel'] as const;

/**
 * What the person chose.
 *
 * @throws {RuntimeError} INVALID_RESPONSE
 */
export function readAction({ action }: JsonObject): UrlAnswer['action'] {
  const known = actions.find((each) => each === action);
  if (known !== undefined) return known;
  throw invalid(`"action" must be one of ${actions.join(', ')}; this is ${describe(action)}`);
}

/**
 * What came of a form; its content is looked at only where it was accepted.
 *
 * @throws {RuntimeError} INVALID_RESPONSE with what is wrong
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
    throw invalid(`"content" must be an object, this is ${describe(content)}`);
  }
  return { action, content: await form.read(content) };
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
