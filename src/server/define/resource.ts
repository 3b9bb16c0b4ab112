/**
 * Definition of resources and resource templates.
 *
 * @see MCP 2025-11-25, server/resources
 */
import { withAuthorStack } from '../../protocol/author-stack.ts';
import { inspectValue } from '../../protocol/classify.ts';
import type { ResourceContents } from '../../protocol/content.ts';
import type { Annotations, DisplayInfo } from '../../protocol/display-info.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { checkCaching } from './caching.ts';
import type { Caching } from './caching.ts';
import { checkItem } from './item-rules.ts';
import { checkVisibilityOptions } from './visible.ts';
import type { VisibilityOptions } from './visible.ts';
import type { ItemRules } from './item-rules.ts';
import { isUri } from './uri-template.ts';
import { uriTemplate } from './uri-template.ts';
import type { UriTemplate, Variables } from './uri-template.ts';

/**
 * Contents of a resource. A string is sent as text, bytes as a base64 blob, both with the `mimeType`
 * of the resource.
 */
export type ReadResult = string | Uint8Array | readonly ResourceContents[];

/** List entry of a resource. */
export interface ResourceDescription extends DisplayInfo {
  /** Absolute URI, unique within the server. */
  readonly uri: string;
  /** Programmatic name. Hosts display `title` if present. */
  readonly name: string;
  /** Media type of the contents, if known. */
  readonly mimeType?: string;
  /** Size of the contents, bytes. */
  readonly size?: number;
  /** Hints for the host: audience and priority. */
  readonly annotations?: Annotations;
}

/** A resource with a fixed URI. */
export interface Resource extends ResourceDescription, VisibilityOptions {
  /** Cache hints for the contents. Default: those of the server. */
  readonly caching?: Caching;
  /** Reads the contents. A thrown error becomes a JSON-RPC error. */
  read(context: HandlerContext): ReadResult | Promise<ReadResult>;
}

/** Arguments that the user has already filled in, by name. */
export type FilledArguments = {
  /** Value as typed by the user. */
  readonly [name: string]: string;
};

/**
 * Returns completions for the typed value, best first. The client gets the first 100 and the total.
 *
 * @see MCP 2025-11-25, server/utilities/completion
 */
export type Complete = (
  value: string,
  filled: FilledArguments,
  context: HandlerContext,
) => readonly string[] | Promise<readonly string[]>;

interface TemplateDescription extends DisplayInfo, VisibilityOptions {
  readonly name: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
  /** Cache hints for the contents of the resources. Default: those of the server. */
  readonly caching?: Caching;
  /**
   * Returns the current resources of the template. `resources/list` appends them to the fixed ones,
   * ordered by URI, and calls this for each page. When they change, call the server's
   * `resourceTemplates.announce()`.
   */
  list?(
    context: HandlerContext,
  ): readonly ResourceDescription[] | Promise<readonly ResourceDescription[]>;
}

/** A defined resource template; see {@link defineResourceTemplate}. */
export interface ResourceTemplate extends TemplateDescription, UriTemplate {
  /** URI template (RFC 6570). */
  readonly uriTemplate: string;
  /** Completers by variable name. */
  readonly complete?: { readonly [variable: string]: Complete | undefined };
  /** Reads the resource with this URI; undefined if it does not exist. */
  read(uri: string, variables: never, context: HandlerContext): TemplateReadResult;
}

type TemplateReadResult = ReadResult | undefined | Promise<ReadResult | undefined>;

/**
 * Variable values of a template, typed from its text. Variables that a URI can omit are optional;
 * variables with `*` are lists.
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

/** Input of {@link defineResourceTemplate}. */
export interface ResourceTemplateSpecification<
  TTemplate extends string,
> extends TemplateDescription {
  /**
   * URI template (RFC 6570), such as `notes://{user}/{+path}`. `{name}` does not match `/`, `?` or
   * `#`; `{+name}` matches any character.
   */
  readonly uriTemplate: TTemplate;
  /** Completers by variable name. */
  readonly complete?: { readonly [K in keyof VariablesOf<TTemplate>]?: Complete };
  /**
   * Reads the resource with this URI; returns undefined if it does not exist.
   *
   * @param variables percent-decoded values from the URI. They are client input: validate them like
   *   tool arguments
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

/** Validation rules of resources. */
export const resourceRules: ItemRules = {
  kind: 'resource',
  key: 'uri',
  members: { ...described, uri: true, size: true } satisfies Record<keyof Resource, true>,
  ...readable,
};

/** Validation rules of resource templates. */
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
  definedBy: { by: 'defineResourceTemplate', adds: 'match' },
};

/**
 * Defines a resource with a fixed URI.
 *
 * @throws {TypeError} if a member is missing, unknown or invalid, or `uri` is not an absolute URI
 * @see MCP 2025-11-25, server/resources
 */
export function defineResource(resource: Resource): Resource {
  return withAuthorStack(defineResource, () => {
    checkItem(resource, resourceRules);
    checkCaching(resource.caching, `the resource ${inspectValue(resource.uri)}`);
    checkVisibilityOptions(resource, `the resource ${inspectValue(resource.uri)}`);
    if (!isUri(resource.uri)) {
      throw new TypeError(
        `"uri" of a resource must be an absolute URI such as "notes://today", got ${inspectValue(resource.uri)}`,
      );
    }
    return resource;
  });
}

/**
 * Defines resources whose URIs match a template. The types of the variables passed to `read` follow
 * from the template.
 *
 * @throws {TypeError} if a member is missing, unknown or invalid, if the template is malformed or cannot
 *   be matched, or if `complete` names an unknown variable
 * @see MCP 2025-11-25, server/resources, "Resource Templates"
 */
export function defineResourceTemplate<const TTemplate extends string>(
  template: ResourceTemplateSpecification<TTemplate>,
): ResourceTemplate {
  return withAuthorStack(defineResourceTemplate, () => {
    checkItem(template, templateRules);
    checkCaching(template.caching, `the resource template ${inspectValue(template.uriTemplate)}`);
    checkVisibilityOptions(template, `the resource template ${inspectValue(template.uriTemplate)}`);
    const { variables, match } = uriTemplate(template.uriTemplate);
    const stray = Object.keys(template.complete ?? {}).find((name) => !variables.includes(name));
    if (stray !== undefined) {
      throw new TypeError(
        `The template ${inspectValue(template.uriTemplate)} has no variable ${inspectValue(stray)} to complete`,
      );
    }
    return { ...template, variables, match };
  });
}
