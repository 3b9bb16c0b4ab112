/**
 * What a host answers when its server asks: its roots, a model, a person. Only what is given is
 * declared as a capability.
 *
 * @see MCP 2025-11-25, client/roots, client/sampling, client/elicitation
 */
import type { JsonObject } from '../../protocol/frames.ts';

/** What the host's code gets beside the question. */
export interface Asked {
  /** Aborted if the server withdraws the question, the connection is lost, or it is closed. */
  readonly signal: AbortSignal;
}

/** A root that a host names: a boundary for the server to keep to, not an access control. */
export interface ProvidedRoot {
  /** A `file:` URI. */
  readonly uri: string;
  /** For people. */
  readonly name?: string;
}

/** Gives the roots: a list, or what makes one each time that the server asks. */
export type RootsProvider =
  | readonly ProvidedRoot[]
  | (() => readonly ProvidedRoot[] | Promise<readonly ProvidedRoot[]>);

/** The params of `sampling/createMessage`, as the server sent them. */
export interface SampleRequest extends JsonObject {
  readonly messages: readonly JsonObject[];
}

/** What a model has said: the result of `sampling/createMessage`. */
export interface SampleAnswer {
  /** Who speaks: the model as a rule. */
  readonly role: 'user' | 'assistant';
  /** The model that the host has asked. */
  readonly model: string;
  /** A block or several. */
  readonly content: object;
  /** Why the model stopped, such as `endTurn` or `maxTokens`. */
  readonly stopReason?: string;
}

/** Asks a model on the server's behalf. What it throws is answered with an error. */
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

/** What a person has done with a form. `cancel`: closed it without a choice. */
export interface ElicitAnswer {
  /** What the person chose; `cancel` if they chose nothing. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /**
   * What was filled in; only with `accept`. Properties that are missing get the default of the
   * form's schema.
   */
  readonly content?: JsonObject;
}

export type FormProvider = (
  form: FormRequest,
  asked: Asked,
) => ElicitAnswer | Promise<ElicitAnswer>;

/** A URL for a person to open. */
export interface UrlRequest extends JsonObject {
  readonly message: string;
  /** To be shown whole before it is opened; never fetched by the host itself. */
  readonly url: string;
}

/** A question with a URL, and the end of what happens there. */
export interface UrlAsked extends Asked {
  /**
   * Resolves when the server says that the person is done; that may be long after the answer. It
   * stays pending if the server never says so: in 2026-07-28 none does.
   */
  readonly completed: Promise<void>;
}

/** Asks the person to open a URL. `accept` means that the person agreed to open it. */
export type UrlProvider = (
  request: UrlRequest,
  asked: UrlAsked,
) => ElicitAnswer['action'] | Promise<ElicitAnswer['action']>;

/** Asks a person: by forms alone, or in each way that has a function. */
export type ElicitProvider =
  | FormProvider
  | { readonly form: FormProvider; readonly url?: UrlProvider }
  | { readonly form?: FormProvider; readonly url: UrlProvider };

/** What a host can be asked. */
export interface Providers {
  /** The roots that the server may know. With it the capability `roots` is declared. */
  readonly roots?: RootsProvider;
  /** Lets a model answer `sampling/createMessage`. With it the capability `sampling` is declared. */
  readonly sample?: SampleProvider;
  /** Asks a person (`elicitation/create`). With it the capability `elicitation` is declared. */
  readonly elicit?: ElicitProvider;
}
