/**
 * Resources and resource templates, as their authors write them.
 *
 * @see MCP 2025-11-25, server/resources
 */
import type { ResourceContents } from './content.ts';
import type { Described } from './described.ts';
import type { HandlerContext } from './handler-context.ts';

/** Hints for a host: who a content is for, how important it is, when it was last changed. */
export interface Annotations {
  readonly audience?: readonly ('user' | 'assistant')[];
  /** 0 to 1. */
  readonly priority?: number;
  /** ISO 8601. */
  readonly lastModified?: string;
}

/** The contents of a resource; a string is text with the resource's own `mimeType`. */
export type ReadResult = string | readonly ResourceContents[];

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

/** Resources whose URI follows an RFC 6570 template. */
export interface ResourceTemplate extends Described {
  /** RFC 6570, such as `notes://{user}/{+path}`. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
  /** The resources that there are now, shown in `resources/list`. */
  list?(
    context: HandlerContext,
  ): readonly ResourceDescription[] | Promise<readonly ResourceDescription[]>;
  /** Completion of the template's variables, by name. */
  readonly complete?: { readonly [variable: string]: Complete };
  read(
    uri: string,
    variables: { readonly [name: string]: string | readonly string[] },
    context: HandlerContext,
  ): ReadResult | Promise<ReadResult>;
}

/** Defines a resource with a fixed URI. */
export function defineResource(resource: Resource): Resource {
  return resource;
}

/** Defines resources whose URI follows a template. */
export function defineResourceTemplate(template: ResourceTemplate): ResourceTemplate {
  return template;
}
