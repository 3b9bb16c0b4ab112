/** What a server consists of, as its author writes it down. */
import type { Implementation } from '../protocol/initialize.ts';
import type { Root } from '../protocol/roots.ts';
import type { ResourceContents, ToolOutput } from './content.ts';
import type { HandlerContext } from './handler-context.ts';
import type { FromSchema, ObjectSchema } from './json-schema.ts';

/**
 * Hints about a tool for a host.
 *
 * @see MCP 2025-11-25, schema, "ToolAnnotations"
 */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool with its schemas as values; see {@link defineTool}. */
export interface Tool<TArguments = never> {
  /** 1 to 128 characters of `A-Z a-z 0-9 _ - .` */
  readonly name: string;
  /** For people. */
  readonly title?: string;
  /** For a model: what it does, when to use it. */
  readonly description: string;
  readonly annotations?: ToolAnnotations;
  readonly inputSchema: ObjectSchema;
  /** Where given, every result carries `structured` that conforms to it. */
  readonly outputSchema?: ObjectSchema;
  /** Runs with arguments that have passed `inputSchema`. A `ToolError` becomes a result with `isError`. */
  handler(args: TArguments, context: HandlerContext): ToolOutput | Promise<ToolOutput>;
}

/** A resource with a fixed URI. */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  read(context: HandlerContext): ReadResult | Promise<ReadResult>;
}

/** The contents of a resource; a string is text with the resource's own `mimeType`. */
export type ReadResult = string | readonly ResourceContents[];

/** Turns the client's entries into directories, in order: sets `path` or `problem` on each. */
export type RootsResolver = (
  roots: readonly Root[],
  signal: AbortSignal,
) => Promise<readonly Root[]>;

export interface ServerDefinition extends Implementation {
  /** How to use the server, for a model. */
  readonly instructions?: string;
  readonly tools?: readonly Tool[];
  readonly resources?: readonly Resource[];
  /** Resolves the client's roots as part of each query. Without it they stay URIs. */
  readonly resolveRoots?: RootsResolver;
}

/**
 * Defines a tool. The type of the handler's arguments is taken from `inputSchema`.
 *
 * @throws {TypeError} a name that the specification does not allow
 * @see MCP 2025-11-25, server/tools, "Tool Names"
 */
export function defineTool<const TSchema extends ObjectSchema>(
  tool: Omit<Tool<FromSchema<TSchema>>, 'inputSchema'> & { readonly inputSchema: TSchema },
): Tool {
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(tool.name)) {
    throw new TypeError(
      `A tool's name has 1 to 128 characters of A-Z a-z 0-9 _ - . ; this is ${JSON.stringify(tool.name)}`,
    );
  }
  return tool as Tool;
}

/** Defines a resource with a fixed URI. */
export function defineResource(resource: Resource): Resource {
  return resource;
}
