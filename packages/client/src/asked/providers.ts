/**
 * Providers: the host's code that answers a server's requests for roots, a model or a person. Only
 * the given providers are declared as capabilities.
 *
 * @see MCP 2025-11-25, client/roots, client/sampling, client/elicitation
 */
import type { JsonObject } from '../../../../src/protocol/frames.ts';

/** Context of a request to a provider. */
export interface Asked {
  /** Aborted if the server cancels the request, or if the connection is lost or closed. */
  readonly signal: AbortSignal;
}

/** A root offered to the server: a boundary that the server should respect, not access control. */
export interface ProvidedRoot {
  /** A `file:` URI. */
  readonly uri: string;
  /** Display name. */
  readonly name?: string;
}

/** The roots: a list, or a function called for each request. */
export type RootsProvider =
  | readonly ProvidedRoot[]
  | (() => readonly ProvidedRoot[] | Promise<readonly ProvidedRoot[]>);

/** Params of `sampling/createMessage`, as the server sent them. */
export interface SampleRequest extends JsonObject {
  readonly messages: readonly JsonObject[];
}

/** Result of `sampling/createMessage`. */
export interface SampleAnswer {
  /** Speaker, usually the assistant. */
  readonly role: 'user' | 'assistant';
  /** Name of the model that answered. */
  readonly model: string;
  /** One content block or an array of them. */
  readonly content: object;
  /** Reason why the model stopped, such as `endTurn` or `maxTokens`. */
  readonly stopReason?: string;
}

/** Asks a model on the server's behalf. If the provider throws, the server gets an error. */
export type SampleProvider = (
  request: SampleRequest,
  asked: Asked,
) => SampleAnswer | Promise<SampleAnswer>;

/** A form for a person to fill in. */
export interface FormRequest extends JsonObject {
  readonly message: string;
  /** Schema of a flat object of strings, numbers, booleans and choices, as the server sent it. */
  readonly requestedSchema: JsonObject;
}

/** A person's response to a form. */
export interface ElicitAnswer {
  /** The person's choice; `cancel` if they closed the form without choosing. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The person's input, only with `accept`. Missing properties get the schema's defaults. */
  readonly content?: JsonObject;
}

/** Asks a person to fill in a form. If the provider throws, the server gets an error. */
export type FormProvider = (
  form: FormRequest,
  asked: Asked,
) => ElicitAnswer | Promise<ElicitAnswer>;

/** A URL for a person to open. */
export interface UrlToOpen extends JsonObject {
  readonly message: string;
  /** Show the whole URL before opening it, and never fetch it yourself. */
  readonly url: string;
}

/** Context of a URL request. */
export interface UrlAsked extends Asked {
  /**
   * Resolves when the server reports that the person is done, possibly long after the answer. Stays
   * pending if the server never reports it, as in 2026-07-28.
   */
  readonly completed: Promise<void>;
}

/** Asks a person to open a URL. `accept` means that the person agreed to open it. */
export type UrlProvider = (
  request: UrlToOpen,
  asked: UrlAsked,
) => ElicitAnswer['action'] | Promise<ElicitAnswer['action']>;

/** Asks a person: one function for forms only, or one function per mode. */
export type ElicitProvider =
  | FormProvider
  | { readonly form: FormProvider; readonly url?: UrlProvider }
  | { readonly form?: FormProvider; readonly url: UrlProvider };

/** Context of a request passed through unparsed. */
export interface RawAsked extends Asked {
  /** Sends the server a notification related to its request, such as progress. */
  notify(method: string, params: JsonObject): void;
}

/**
 * Answers a server request of any method: receives its params verbatim and returns the result.
 *
 * @throws {ProtocolError} the error for the server
 */
export type RawAnswer = (
  method: string,
  params: JsonObject | undefined,
  asked: RawAsked,
) => JsonObject | Promise<JsonObject>;

/** The providers of a host. */
export interface Providers {
  /**
   * Answers every request of a legacy server instead of the other providers. Only `capabilities` is
   * then declared to the server, in both eras.
   */
  readonly onRequest?: RawAnswer;
  /** Roots for the server. Declares the capability `roots`. */
  readonly roots?: RootsProvider;
  /** Answers `sampling/createMessage` with a model. Declares the capability `sampling`. */
  readonly sample?: SampleProvider;
  /** Asks a person (`elicitation/create`). Declares the capability `elicitation`. */
  readonly elicit?: ElicitProvider;
}
