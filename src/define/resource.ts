/**
 * Resources and resource templates, as their authors write them.
 *
 * @see MCP 2025-11-25, server/resources
 */
import { describe } from '../protocol/classify.ts';
import type { ResourceContents } from '../protocol/content.ts';
import type { Described } from '../protocol/described.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { isUri } from './uri-template.ts';
import { uriTemplate } from './uri-template.ts';
import type { UriTemplate, Variables } from './uri-template.ts';

/** Hints for a host: who a content is for, how important it is, when it was last changed. */
export interface Annotations {
  readonly audience?: readonly ('user' | 'assistant')[];
  /** 0 to 1. */
  readonly priority?: number;
  /** ISO 8601. */
  readonly lastModified?: string;
}

/** The contents of a resource: a string is text and bytes are sent as base64, both with the resource's own `mimeType`. */
export type ReadResult = string | Uint8Array | readonly ResourceContents[];

/** What a list shows of a resource. */
export interface ResourceDescription extends Described {
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string;
  /** Bytes. */
  readonly size?: number;
  readonly annotations?: Annotations;
}

/** A resource with a fixed URI. */
export interface Resource extends ResourceDescription {
  read(context: HandlerContext): ReadResult | Promise<ReadResult>;
}

/** What has been filled in of a template or a prompt when a value is completed. */
export type Filled = { readonly [name: string]: string };

/** Values for what the user has typed so far, best first. More than 100 are cut, and the client is told how many there are. */
export type Complete = (
  value: string,
  filled: Filled,
  context: HandlerContext,
) => readonly string[] | Promise<readonly string[]>;

interface TemplateDescription extends Described {
  readonly name: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
  /**
   * The resources that there are now, shown in `resources/list` after the fixed ones, in the order of their URIs. Called for each page.
   * Where they change, call `resourceTemplates.announce()` of the server.
   */
  list?(
    context: HandlerContext,
  ): readonly ResourceDescription[] | Promise<readonly ResourceDescription[]>;
}

/** Resources whose URI follows a template; see {@link defineResourceTemplate}. */
export interface ResourceTemplate extends TemplateDescription, UriTemplate {
  readonly uriTemplate: string;
  readonly complete?: { readonly [variable: string]: Complete | undefined };
  read(uri: string, variables: never, context: HandlerContext): TemplateReadResult;
}

type TemplateReadResult = ReadResult | undefined | Promise<ReadResult | undefined>;

/** The values of a template's variables: those that a URI may lack are optional, and one with `*` is a list. */
export type VariablesOf<TTemplate extends string> = string extends TTemplate
  ? Variables
  : { readonly [K in keyof Collected<TTemplate>]: Collected<TTemplate>[K] };

type Collected<TTemplate extends string> =
  TTemplate extends `${string}{${infer TExpression}}${infer TRest}`
    ? InExpression<TExpression> & Collected<TRest>
    : unknown;

type InExpression<TExpression extends string> =
  TExpression extends `${'#' | '.' | '/' | ';' | '?' | '&'}${infer TNames}`
    ? { readonly [K in keyof Listed<TNames>]?: Listed<TNames>[K] }
    : TExpression extends `+${infer TNames}`
      ? Listed<TNames>
      : Listed<TExpression>;

type Listed<TNames extends string> = TNames extends `${infer TName},${infer TRest}`
  ? One<TName> & Listed<TRest>
  : One<TNames>;

type One<TName extends string> = TName extends `${infer TList}*`
  ? { readonly [K in TList]: readonly string[] }
  : { readonly [K in TName]: string };

export interface ResourceTemplateSpecification<
  TTemplate extends string,
> extends TemplateDescription {
  /** RFC 6570, such as `notes://{user}/{+path}`. A plain `{name}` does not match `/`, `?` or `#`; `{+name}` matches anything. */
  readonly uriTemplate: TTemplate;
  /** Completion of the template's variables, by name. */
  readonly complete?: { readonly [K in keyof VariablesOf<TTemplate>]?: Complete };
  /**
   * Reads the resource with this URI. Gives `undefined` where there is none.
   * @param variables what the URI says of the template's variables, percent-decoded; a client wrote it, so trust it as little as an argument
   */
  read(uri: string, variables: VariablesOf<TTemplate>, context: HandlerContext): TemplateReadResult;
}

/**
 * Defines a resource with a fixed URI.
 *
 * @throws {TypeError} what is no URI
 */
export function defineResource(resource: Resource): Resource {
  if (!isUri(resource.uri)) {
    throw new TypeError(
      `A resource's URI has a scheme and no spaces, as "notes://today" has; this is ${describe(resource.uri)}`,
    );
  }
  return resource;
}

/**
 * Defines resources whose URI follows a template. The types of the variables are taken from it.
 *
 * @throws {TypeError} what is no template, or one that cannot be matched; a completer of a variable that the template does not have
 */
export function defineResourceTemplate<const TTemplate extends string>(
  template: ResourceTemplateSpecification<TTemplate>,
): ResourceTemplate {
  const { variables, match } = uriTemplate(template.uriTemplate);
  const stray = Object.keys(template.complete ?? {}).find((name) => !variables.includes(name));
  if (stray !== undefined) {
    throw new TypeError(
      `The template ${describe(template.uriTemplate)} has no variable ${describe(stray)} to complete`,
    );
  }
  return { ...template, variables, match };
}
