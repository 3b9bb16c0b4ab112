/**
 * What answers when a server asks its host: roots, a model, a person. Only the given providers are
 * declared as capabilities.
 *
 * @see MCP 2025-11-25, client/roots, client/sampling, client/elicitation
 */
import type { JsonObject } from '../../../../src/protocol/frames.ts';

/** What the host's code gets along with the question. */
export interface Asked {
  /** Aborted if the server withdraws the question, the connection is lost, or it is closed. */
  readonly signal: AbortSignal;
}

/** A root that a host names: a boundary that the server is asked to respect, not access control. */
export interface ProvidedRoot {
  /** A `file:` URI. */
  readonly uri: string;
  /** For people. */
  readonly name?: string;
}

/** The roots: a list, or a function that makes one each time the server asks. */
export type RootsProvider =
  | readonly ProvidedRoot[]
  | (() => readonly ProvidedRoot[] | Promise<readonly ProvidedRoot[]>);

/** The params of `sampling/createMessage`, as the server sent them. */
export interface SampleRequest extends JsonObject {
  readonly messages: readonly JsonObject[];
}

/** A model's answer: the result of `sampling/createMessage`. */
export interface SampleAnswer {
  /** Who speaks: usually the model. */
  readonly role: 'user' | 'assistant';
  /** The model that the host has asked. */
  readonly model: string;
  /** A block or several. */
  readonly content: object;
  /** Why the model stopped, such as `endTurn` or `maxTokens`. */
  readonly stopReason?: string;
}

/** Asks a model on the server's behalf. If it throws, the server gets an error. */
export type SampleProvider = (
  request: SampleRequest,
  asked: Asked,
) => SampleAnswer | Promise<SampleAnswer>;

/** A form for a person to fill in. */
export interface FormRequest extends JsonObject {
  readonly message: string;
  /** A flat object of strings, numbers, booleans and choices, as the server sent it. */
  readonly requestedSchema: JsonObject;
}

/** What a person did with a form. `cancel`: they closed it without choosing. */
export interface ElicitAnswer {
  /** What the person chose; `cancel` if they chose nothing. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /**
   * The person's input; only with `accept`. Missing properties get the defaults of the form's
   * schema.
   */
  readonly content?: JsonObject;
}

/** Asks a person to fill in a form. If it throws, the server gets an error. */
export type FormProvider = (
  form: FormRequest,
  asked: Asked,
) => ElicitAnswer | Promise<ElicitAnswer>;

/** A URL for a person to open. */
export interface UrlToOpen extends JsonObject {
  readonly message: string;
  /** Show all of it before opening it, and never fetch it yourself. */
  readonly url: string;
}

/** Context of a question with a URL. */
export interface UrlAsked extends Asked {
  /**
   * Resolves when the server says that the person is done, which may be long after the answer. It
   * stays pending if the server never says so, as in 2026-07-28.
   */
  readonly completed: Promise<void>;
}

/** Asks the person to open a URL. `accept` means that the person agreed to open it. */
export type UrlProvider = (
  request: UrlToOpen,
  asked: UrlAsked,
) => ElicitAnswer['action'] | Promise<ElicitAnswer['action']>;

/** Asks a person: one function for forms only, or a function for each way. */
export type ElicitProvider =
  | FormProvider
  | { readonly form: FormProvider; readonly url?: UrlProvider }
  | { readonly form?: FormProvider; readonly url: UrlProvider };

/** Context of a request that is answered unread. */
export interface RawAsked extends Asked {
  /** Tells the server something on behalf of its request, such as progress. */
  notify(method: string, params: JsonObject): void;
}

/**
 * Answers a server's request of any method: gets its params as they came, and gives the result.
 *
 * @throws {ProtocolError} the error that the server gets
 */
export type RawAnswer = (
  method: string,
  params: JsonObject | undefined,
  asked: RawAsked,
) => JsonObject | Promise<JsonObject>;

/** The providers of a host. */
export interface Providers {
  /**
   * Answers everything that a server of the legacy era asks, in place of the other providers. What
   * is declared to the server is what `capabilities` says, in both eras, and nothing else.
   */
  readonly onRequest?: RawAnswer;
  /** The roots that the server may know. With it the capability `roots` is declared. */
  readonly roots?: RootsProvider;
  /** Lets a model answer `sampling/createMessage`. With it the capability `sampling` is declared. */
  readonly sample?: SampleProvider;
  /** Asks a person (`elicitation/create`). With it the capability `elicitation` is declared. */
  readonly elicit?: ElicitProvider;
}
