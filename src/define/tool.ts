/**
 * Tools, as their authors write them.
 *
 * @see MCP 2025-11-25, server/tools
 */
import type { HandlerContext } from '../context/handler-context.ts';
import { describe } from '../protocol/classify.ts';
import type { ContentBlock } from '../protocol/content.ts';
import type { Described } from '../protocol/described.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { taskSupports } from '../protocol/tasks.ts';
import type { TaskSupport } from '../protocol/tasks.ts';
import { jsonSchemaOf } from '../schema/schema.ts';
import type { AcceptedBy, ParsedBy, Schema } from '../schema/schema.ts';
import type { SchemaSide } from '../schema/json-schema.ts';

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

interface ToolDescription extends Described {
  /** 1 to 128 characters of `A-Z a-z 0-9 _ - .` */
  readonly name: string;
  /** For a model: what it does, when to use it. */
  readonly description: string;
  readonly annotations?: ToolAnnotations;
  /**
   * Whether a client may call it as a task, and fetch the result later: `optional`, `required`, or `forbidden`, which is the default.
   * To clients of a revision without tasks it is an ordinary tool.
   *
   * @see MCP 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"
   */
  readonly taskSupport?: TaskSupport;
}

/** A tool; see {@link defineTool}. */
export interface Tool extends ToolDescription {
  readonly inputSchema: Schema;
  readonly outputSchema?: Schema;
  /** Runs with arguments that have passed `inputSchema`. */
  handler(args: never, context: HandlerContext): unknown;
}

/** A tool's result in full. `structured` must conform to the tool's `outputSchema`; its text form is added where `content` is absent. */
export interface ToolResult {
  readonly content?: readonly ContentBlock[];
  readonly structured?: object;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** What a handler may return: a text, content blocks, or a whole result. */
export type ToolOutput = string | readonly ContentBlock[] | ToolResult;

/** What a tool with an `outputSchema` gives: a value that conforms, or an error for the model. */
export type StructuredOutput<T> =
  | {
      readonly structured: T;
      /** Where absent, the value as JSON text. */
      readonly content?: readonly ContentBlock[];
      readonly isError?: false;
      readonly _meta?: JsonObject;
    }
  | {
      readonly content: readonly ContentBlock[];
      readonly isError: true;
      readonly _meta?: JsonObject;
    };

type OutputOf<TOutput> = TOutput extends Schema
  ? StructuredOutput<Frozen<AcceptedBy<TOutput>>>
  : ToolOutput;

type Primitive = string | number | bigint | boolean | symbol | null | undefined;

/** Nothing of a result is written to: what is constant will do, also where a library says that its arrays may be changed. */
type Frozen<T> = unknown extends T
  ? T
  : T extends Primitive | ((...args: never[]) => unknown)
    ? T
    : { readonly [K in keyof T]: Frozen<T[K]> };

export interface ToolSpecification<
  TInput extends Schema,
  TOutput extends Schema | undefined,
  TGiven extends Given<TOutput> = Given<TOutput>,
> extends ToolDescription {
  /** Any Standard Schema that can tell its JSON Schema, or a JSON Schema as a value. Without one the tool takes no arguments. */
  readonly inputSchema?: TInput;
  /** Where given, every result carries `structured` that conforms to it. */
  readonly outputSchema?: TOutput;
  /** Runs with arguments that have passed `inputSchema`. A `ToolError` becomes a result with `isError`. */
  readonly handler: (args: NoInfer<ParsedBy<TInput>>, context: HandlerContext) => TGiven;
}

/** What a handler gives, be it now or later. A constant type parameter extends it, so that a literal in a result stays one. */
type Given<TOutput> = OutputOf<TOutput> | Promise<OutputOf<TOutput>>;

/**
 * Defines a tool. The types of the handler's arguments and of its structured output are taken from the schemas.
 *
 * @throws {TypeError} a name or a `taskSupport` that the specification does not allow; a schema whose values are no objects, or that its library cannot
 *   tell as JSON Schema. A JSON Schema that `ajv` cannot compile is found at the first call.
 * @see MCP 2025-11-25, server/tools, "Tool Names"
 */
export function defineTool<
  const TInput extends Schema = typeof noArguments,
  const TOutput extends Schema | undefined = undefined,
  const TGiven extends Given<TOutput> = Given<TOutput>,
>(tool: ToolSpecification<TInput, TOutput, TGiven>): Tool {
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(tool.name)) {
    throw new TypeError(
      `A tool's name has 1 to 128 characters of A-Z a-z 0-9 _ - . ; this is ${JSON.stringify(tool.name)}`,
    );
  }
  if (tool.taskSupport !== undefined && !taskSupports.includes(tool.taskSupport)) {
    throw new TypeError(
      `taskSupport is one of ${taskSupports.join(', ')}; of the tool "${tool.name}" it is ${describe(tool.taskSupport)}`,
    );
  }
  const defined = { inputSchema: noArguments, ...tool } as Tool;
  // Converted now and not when a client lists the tools: an author sees the mistake where it was made.
  jsonSchemaOf(defined.inputSchema, 'input', schemaOf(tool, 'input'));
  if (defined.outputSchema) jsonSchemaOf(defined.outputSchema, 'output', schemaOf(tool, 'output'));
  return defined;
}

/** A schema of a tool's, for messages. */
export function schemaOf({ name }: { readonly name: string }, side: SchemaSide): string {
  return `The ${side}Schema of the tool "${name}"`;
}

const noArguments = { type: 'object', properties: {}, additionalProperties: false } as const;
