/**
 * Resources and resource templates, as authors write them.
 *
 * @see MCP 2025-11-25, server/resources
 */
import { inspectValue } from '../../protocol/classify.ts';
import type { ResourceContents } from '../../protocol/content.ts';
import type { Annotations, DisplayInfo } from '../../protocol/display-info.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { checkCaching } from './caching.ts';
import type { Caching } from './caching.ts';
import { checkItem } from './item-faults.ts';
import { checkForSome } from './visible.ts';
import type { ForSome } from './visible.ts';
import type { ItemRules } from './item-faults.ts';
import { isUri } from './uri-template.ts';
import { uriTemplate } from './uri-template.ts';
import type { UriTemplate, Variables } from './uri-template.ts';

/**
 * The contents of a resource. A string is sent as text, bytes are sent as base64; both get the
 * resource's own `mimeType`.
 */
export type ReadResult = string | Uint8Array | readonly ResourceContents[];

/** A resource as a list describes it. */
export interface ResourceDescription extends DisplayInfo {
  /** What clients read it by; an absolute URI, once in a server. */
  readonly uri: string;
  /** For programs; hosts show `title` if there is one. */
  readonly name: string;
  /** The media type of the contents, if it is known. */
  readonly mimeType?: string;
  /** Bytes. */
  readonly size?: number;
  /** Hints for the host: for whom it is, and how important. */
  readonly annotations?: Annotations;
}

/** A resource with a fixed URI. */
export interface Resource extends ResourceDescription, ForSome {
  /** How long clients may cache its contents; what it leaves out, the server says. */
  readonly caching?: Caching;
  /**
   * Reads the contents. What it throws is answered with an error, and `ToolError` is as good as
   * any.
   */
  read(context: HandlerContext): ReadResult | Promise<ReadResult>;
}

/** The values that the user has already filled in when another one is completed, by name. */
export type Filled = {
  /** The value of each argument, as the user has typed it. */
  readonly [name: string]: string;
};

/**
 * Gives values that complete what the user has typed, the best ones first. A client gets at most
 * 100 of them, and their number.
 */
export type Complete = (
  value: string,
  filled: Filled,
  context: HandlerContext,
) => readonly string[] | Promise<readonly string[]>;

interface TemplateDescription extends DisplayInfo, ForSome {
  readonly name: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
  /** How long clients may cache the contents of its resources; what it leaves out, the server says. */
  readonly caching?: Caching;
  /**
   * Lists the resources that exist now. `resources/list` shows them after the fixed ones, ordered
   * by URI, and calls this for each page. When they change, call `resourceTemplates.announce()` of
   * the server.
   */
  list?(
    context: HandlerContext,
  ): readonly ResourceDescription[] | Promise<readonly ResourceDescription[]>;
}

/** Resources whose URIs match a template; see {@link defineResourceTemplate}. */
export interface ResourceTemplate extends TemplateDescription, UriTemplate {
  /** A URI with variables, as RFC 6570 has it. */
  readonly uriTemplate: string;
  /** Completes the variables, by name. */
  readonly complete?: { readonly [variable: string]: Complete | undefined };
  /** Reads the resource with this URI, or gives `undefined` if it does not exist. */
  read(uri: string, variables: never, context: HandlerContext): TemplateReadResult;
}

type TemplateReadResult = ReadResult | undefined | Promise<ReadResult | undefined>;

/**
 * The values of a template's variables. A variable that a URI may lack is optional; one with `*` is
 * a list.
 */
export type VariablesOf<TTemplate extends string> = string extends TTemplate
  ? Variables
  : { readonly [K in keyof VariablesIn<TTemplate>]: VariablesIn<TTemplate>[K] };

type VariablesIn<TTemplate extends string> =
  TTemplate extends `${string}{${infer TExpression}}${infer TRest}`
    ? InExpression<TExpression> & VariablesIn<TRest>
    : unknown;

type InExpression<TExpression extends string> =
  TExpression extends `${'#' | '.' | '/' | ';' | '?' | '&'}${infer TNames}`
    ? { readonly [K in keyof NamedVariables<TNames>]?: NamedVariables<TNames>[K] }
    : TExpression extends `+${infer TNames}`
      ? NamedVariables<TNames>
      : NamedVariables<TExpression>;

type NamedVariables<TNames extends string> = TNames extends `${infer TName},${infer TRest}`
  ? NamedVariable<TName> & NamedVariables<TRest>
  : NamedVariable<TNames>;

type NamedVariable<TName extends string> = TName extends `${infer TList}*`
  ? { readonly [K in TList]: readonly string[] }
  : { readonly [K in TName]: string };

/** What an author says of a resource template; see {@link defineResourceTemplate}. */
export interface ResourceTemplateSpecification<
  TTemplate extends string,
> extends TemplateDescription {
  /**
   * A URI template (RFC 6570) such as `notes://{user}/{+path}`. A plain `{name}` does not match
   * `/`, `?` or `#`; `{+name}` matches any character.
   */
  readonly uriTemplate: TTemplate;
  /** Completes the template's variables, by name. */
  readonly complete?: { readonly [K in keyof VariablesOf<TTemplate>]?: Complete };
  /**
   * Reads the resource with this URI, or gives `undefined` if it does not exist.
   * @param variables the template's variables as the URI has them, percent-decoded. A client wrote
   *   them: trust them as little as a tool's arguments
   */
  read(uri: string, variables: VariablesOf<TTemplate>, context: HandlerContext): TemplateReadResult;
}

const described = {
  name: true,
  title: true,
  description: true,
  icons: true,
  _meta: true,
  mimeType: true,
  annotations: true,
  caching: true,
  visible: true,
  tags: true,
  read: true,
} as const;

const readable = {
  strings: ['name'],
  functions: ['read'],
  synonyms: { load: 'read', handler: 'read', callback: 'read', readCallback: 'read' },
};

/** What a resource must have. */
export const resourceRules: ItemRules = {
  kind: 'resource',
  key: 'uri',
  members: { ...described, uri: true, size: true } satisfies Record<keyof Resource, true>,
  ...readable,
};

/** What a resource template must have. */
export const templateRules: ItemRules = {
  kind: 'resource template',
  key: 'uriTemplate',
  members: {
    ...described,
    uriTemplate: true,
    list: true,
    complete: true,
    match: true,
    variables: true,
  } satisfies Record<keyof ResourceTemplate, true>,
  ...readable,
  defined: { by: 'defineResourceTemplate', adds: 'match' },
};

/**
 * Defines a resource with a fixed URI.
 *
 * @throws {TypeError} a member is missing or unknown, or `uri` is not a URI
 */
export function defineResource(resource: Resource): Resource {
  checkItem(resource, resourceRules);
  checkCaching(resource.caching, `the resource ${inspectValue(resource.uri)}`);
  checkForSome(resource, `the resource ${inspectValue(resource.uri)}`);
  if (!isUri(resource.uri)) {
    throw new TypeError(
      `A resource's URI has a scheme and no spaces, as "notes://today" has; this is ${inspectValue(resource.uri)}`,
    );
  }
  return resource;
}

/**
 * Defines resources whose URIs match a template. `read` receives its variables, typed after the
 * template.
 *
 * @throws {TypeError} a member is missing or unknown; the template cannot be parsed or
 *   matched, or `complete` names a variable that
 *   it does not have
 */
export function defineResourceTemplate<const TTemplate extends string>(
  template: ResourceTemplateSpecification<TTemplate>,
): ResourceTemplate {
  checkItem(template, templateRules);
  checkCaching(template.caching, `the resource template ${inspectValue(template.uriTemplate)}`);
  checkForSome(template, `the resource template ${inspectValue(template.uriTemplate)}`);
  const { variables, match } = uriTemplate(template.uriTemplate);
  const stray = Object.keys(template.complete ?? {}).find((name) => !variables.includes(name));
  if (stray !== undefined) {
    throw new TypeError(
      `The template ${inspectValue(template.uriTemplate)} has no variable ${inspectValue(stray)} to complete`,
    );
  }
  return { ...template, variables, match };
}
