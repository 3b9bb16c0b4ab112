/**
 * Definition of tools.
 *
 * @see MCP 2025-11-25, server/tools
 */
import { withAuthorStack } from '../../protocol/author-stack.ts';
import type { AnyStateMachine, InputFrom } from 'xstate';
import type { HandlerContext } from '../context/handler-context.ts';
import type { ToolUi } from '../../protocol/apps.ts';
import { inspectValue } from '../../protocol/classify.ts';
import type { ContentBlock } from '../../protocol/content.ts';
import type { DisplayInfo, ToolAnnotations } from '../../protocol/display-info.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { taskSupports } from '../../protocol/tasks.ts';
import type { TaskSupport } from '../../protocol/tasks.ts';
import { validateScopes } from '../../protocol/oauth.ts';
import { checkOf, jsonSchemaOf } from '../../../packages/schema/src/schema.ts';
import type { AcceptedBy, ParsedBy, Schema } from '../../../packages/schema/src/schema.ts';
import type { ObjectSchema, SchemaSide } from '../../../packages/schema/src/json-schema.ts';
import { mirroredParameters } from '../../../packages/schema/src/mirrored-parameters.ts';
import { checkToolUi } from './app.ts';
import { checkItem } from './item-rules.ts';
import type { ItemRules } from './item-rules.ts';
import { checkToolMachine } from './machine-validation.ts';
import { machineHandler } from './machine-handler.ts';
import { checkVisibilityOptions } from './visible.ts';
import type { VisibilityOptions } from './visible.ts';
import type { Migrate } from './tool-machine.ts';

/**
 * Exposure of unexpected tool errors (anything but `ToolError` and `RuntimeError`) to the model.
 * `show`: the message, never the stack. `mask`: an id under which the error is logged.
 */
export type ErrorExposure = (typeof errorExposures)[number];

const errorExposures = ['show', 'mask'] as const;

interface ToolDescription extends DisplayInfo, VisibilityOptions {
  /** 1 to 128 characters out of `A-Z a-z 0-9 _ - .` */
  readonly name: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** Hints for the host, such as `readOnlyHint`. */
  readonly annotations?: ToolAnnotations;
  /**
   * Whether clients may (`optional`) or must (`required`) call the tool as a task and fetch the result
   * later. Default: `forbidden`. Clients of a revision without tasks see an ordinary tool.
   *
   * @see MCP 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"
   */
  readonly taskSupport?: TaskSupport;
  /**
   * App that hosts show for the tool. Its resource must belong to the server, see
   * {@link defineAppResource}. Other clients only see the result, so its text should be complete.
   *
   * @see MCP Apps 2026-01-26
   */
  readonly ui?: ToolUi;
  /**
   * Required OAuth scopes. Over HTTP with authorization, a call whose token lacks one of them is
   * rejected with a scope challenge before the handler runs. Ignored without authorization.
   *
   * @see MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
   */
  readonly scopes?: readonly string[];
  /** Exposure of unexpected errors. Default: `errors` of the server. */
  readonly errors?: ErrorExposure;
  /**
   * Since 2026-07-28 a call that needs input ends with the questions, and resumes when the client
   * retries with the answers. If the retry arrives late or at another process, the handler runs again
   * and gets the same answers. `false` rejects such retries, and the model is told to call again.
   * Default: true.
   */
  readonly replay?: boolean;
  /**
   * Lets tasks and calls of the tool survive their process, if the server has a durable store: the next process runs
   * the handler again with the recorded answers, `context.once` values and checkpoint. Put everything that must not
   * happen twice in `context.once`. Default: false for handlers; true for machines, which resume in their state.
   */
  readonly durable?: boolean;
  /** True to reject a repeated retry. By default it gets the result of the first one again. */
  readonly singleUse?: boolean;
}

/** A defined tool; see {@link defineTool}. */
export interface Tool extends ToolDescription {
  /** Schema of the arguments, validated before `handler` runs. */
  readonly inputSchema: Schema;
  /** Schema of `structured`. Tools without one return only content. */
  readonly outputSchema?: Schema;
  /** Runs the tool with validated arguments. */
  handler(args: never, context: HandlerContext): unknown;
}

/** A tool typed with its literal name and its schemas, for the typed test client. */
export interface DefinedTool<
  TName extends string,
  TInput extends Schema,
  TOutput extends Schema | undefined,
> extends Tool {
  /** Literal name of the tool. */
  readonly name: TName;
  /** Input schema. Default: an object without properties. */
  readonly inputSchema: TInput;
  /** Output schema, if any. */
  readonly outputSchema?: NonNullable<TOutput>;
}

/**
 * Complete tool result. `structured` must conform to the tool's `outputSchema`. If `content` is
 * absent, the client gets `structured` as JSON text.
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
export interface ToolResult {
  /** Content for the model and the user. Default: `structured` as JSON text. */
  readonly content?: readonly ContentBlock[];
  /** Machine-readable result that conforms to `outputSchema`. */
  readonly structured?: Structured;
  /** True if the call failed and `content` explains the error to the model. Default: false. */
  readonly isError?: boolean;
  /** Additional metadata under prefixed keys, passed through unchanged. */
  readonly _meta?: JsonObject;
}

/** A plain object: no Date, Map, Set or array. */
type Structured = object & {
  readonly [Symbol.iterator]?: never;
  readonly getTime?: never;
};

/** Return value of a handler: a text, content blocks, or a complete result. */
export type ToolOutput = string | readonly ContentBlock[] | ToolResult;

/** Result of a tool with an `outputSchema`: a conforming value, or an error for the model. */
export type StructuredOutput<T> =
  | {
      readonly structured: T;
      /** Default: the value as JSON text. */
      readonly content?: readonly ContentBlock[];
      readonly isError?: false;
      readonly _meta?: JsonObject;
    }
  | {
      readonly content: readonly ContentBlock[];
      readonly isError: true;
      readonly _meta?: JsonObject;
    };

type Primitive = string | number | bigint | boolean | symbol | null | undefined;

/** Deeply readonly `T`, so that handlers can return constants even if a library types arrays as mutable. */
type DeepReadonly<T> = unknown extends T
  ? T
  : T extends Primitive | ((...args: never[]) => unknown)
    ? T
    : { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** Input of {@link defineTool} for a tool with a handler. */
export interface ToolSpecification<
  TInput extends Schema,
  TOutput extends Schema | undefined,
  TReturned extends HandlerReturn<TOutput> = HandlerReturn<TOutput>,
  TName extends string = string,
> extends ToolDescription {
  /** Unique name within the server: 1 to 128 letters, digits, `_`, `-` and `.`. */
  readonly name: TName;
  /**
   * Schema of the arguments: a Standard Schema that can be converted to JSON Schema, or a plain JSON
   * Schema. Default: no arguments.
   */
  readonly inputSchema?: TInput;
  /** Schema of `structured`, which every result must then contain. */
  readonly outputSchema?: TOutput;
  /**
   * Runs the tool with validated arguments. A thrown `ProtocolError` becomes a JSON-RPC error, any
   * other error a result with `isError`.
   */
  readonly handler: (args: NoInfer<ParsedBy<TInput>>, context: HandlerContext) => TReturned;
  /** Only for machine tools, see {@link MachineToolSpecification}. */
  readonly machine?: never;
  /** Only for machine tools. */
  readonly migrate?: never;
}

/** Input of {@link defineTool} for a tool with an XState machine instead of a handler. */
export interface MachineToolSpecification<
  TInput extends Schema,
  TMachine extends AnyStateMachine,
  TName extends string = string,
> extends ToolDescription {
  /** Unique name within the server: 1 to 128 letters, digits, `_`, `-` and `.`. */
  readonly name: TName;
  /** Schema of the arguments, which are the machine's input. Default: no arguments. */
  readonly inputSchema?: TInput;
  /** Schema of `structured` in the machine's output. */
  readonly outputSchema?: Schema;
  /**
   * The machine. Its input is the arguments, its output the result. States with the tag `waiting` ask
   * the client the {@link ToolQuestion} in their `meta.ask` and receive a {@link ToolAnswer}. While it
   * waits, only its snapshot is kept.
   */
  readonly machine: ParsedBy<TInput> extends InputFrom<TMachine> ? TMachine : never;
  /**
   * Maps a state of an earlier version of the machine that this version lacks. Without it, a task in such a state is
   * left to processes that have the state.
   */
  readonly migrate?: Migrate;
  /** Only for tools without a machine. */
  readonly handler?: never;
}

/**
 * Return type of a handler. A const type parameter extends it, so that literals in a result keep
 * their literal types.
 */
type HandlerReturn<TOutput> = TOutput extends Schema
  ?
      | StructuredOutput<DeepReadonly<AcceptedBy<TOutput>>>
      | Promise<StructuredOutput<DeepReadonly<AcceptedBy<TOutput>>>>
  : ToolOutput | Promise<ToolOutput>;

/**
 * `T` without inference from the contextual return type: otherwise a tool without a schema, written
 * inside a list of tools, would get the type of any schema. `NoInfer` would remain in the result type.
 */
type Uninferred<T> = [T] extends [infer U extends T] ? U : never;

/** Validation rules of tools. */
export const toolRules: ItemRules = {
  kind: 'tool',
  key: 'name',
  strings: ['description'],
  functions: ['handler'],
  members: {
    name: true,
    title: true,
    description: true,
    icons: true,
    _meta: true,
    inputSchema: true,
    outputSchema: true,
    annotations: true,
    taskSupport: true,
    ui: true,
    scopes: true,
    errors: true,
    replay: true,
    singleUse: true,
    visible: true,
    tags: true,
    durable: true,
    migrate: true,
    handler: true,
    machine: true,
  } satisfies Record<keyof Tool | 'machine' | 'migrate', true>,
  synonyms: {
    execute: 'handler',
    callback: 'handler',
    run: 'handler',
    parameters: 'inputSchema',
    paramsSchema: 'inputSchema',
    requiredScopes: 'scopes',
  },
  definedBy: { by: 'defineTool', adds: 'inputSchema' },
};

/**
 * Defines a tool. The schemas type the handler's arguments and its structured output.
 *
 * @throws {TypeError} naming the problem and its place, if
 *   - a member is missing, unknown or invalid;
 *   - a schema is invalid, does not describe an object, cannot be converted to JSON Schema, or has an
 *     `x-mcp-header` in a place where the specification forbids it;
 *   - the machine could not be resumed from one of its waiting states.
 * @see MCP 2025-11-25, server/tools, "Tool Names"
 */
export function defineTool<
  const TInput extends Schema = typeof noArguments,
  const TOutput extends Schema | undefined = undefined,
  const TReturned extends HandlerReturn<TOutput> = HandlerReturn<TOutput>,
  const TName extends string = string,
  TMachine extends AnyStateMachine = AnyStateMachine,
>(
  tool:
    | ToolSpecification<TInput, TOutput, TReturned, TName>
    | MachineToolSpecification<TInput, TMachine, TName>,
): DefinedTool<TName, Uninferred<TInput>, Uninferred<TOutput>> {
  return withAuthorStack(defineTool, () => {
    // Undefined is possible in JavaScript.
    const given = tool as typeof tool | undefined;
    checkItem(given, given?.machine ? { ...toolRules, functions: [] } : toolRules);
    if (!/^[A-Za-z0-9_.-]{1,128}$/.test(tool.name)) {
      throw new TypeError(
        `"name" of a tool must be 1 to 128 characters out of A-Z a-z 0-9 _ - . , got ${inspectValue(tool.name)}`,
      );
    }
    if (tool.taskSupport !== undefined && !taskSupports.includes(tool.taskSupport)) {
      throw new TypeError(
        `"taskSupport" of the tool "${tool.name}" must be one of ${taskSupports.join(', ')}, got ${inspectValue(tool.taskSupport)}`,
      );
    }
    checkDurable(tool);
    checkToolUi(tool.ui, `the tool "${tool.name}"`, tool._meta);
    checkScopes(tool.scopes, `the tool "${tool.name}"`);
    checkErrorExposure(tool.errors, `the tool "${tool.name}"`);
    checkVisibilityOptions(tool, `the tool "${tool.name}"`);
    const { machine } = tool;
    if (machine) checkToolMachine(machine, `the tool "${tool.name}"`);
    const handler = machine ? machineHandler(machine, tool.migrate) : tool.handler;
    const defined = { inputSchema: noArguments, ...tool, handler } as Tool;
    // Convert the schemas now, so that errors point at the definition.
    const input = jsonSchemaOf(defined.inputSchema, 'input', schemaLabel(tool, 'input'));
    if (defined.outputSchema)
      jsonSchemaOf(defined.outputSchema, 'output', schemaLabel(tool, 'output'));
    checkOf(defined.inputSchema, 'input', schemaLabel(tool, 'input'));
    if (defined.outputSchema) checkOf(defined.outputSchema, 'output', schemaLabel(tool, 'output'));
    checkHeaderParameters(input, schemaLabel(tool, 'input'));
    // Without a schema, TInput is the type of noArguments.
    return defined as DefinedTool<TName, Uninferred<TInput>, Uninferred<TOutput>>;
  });
}

/** @throws {TypeError} if HTTP clients would drop the tool because of an invalid `x-mcp-header` */
function checkHeaderParameters(schema: ObjectSchema, what: string): void {
  const mirrored = mirroredParameters(schema);
  if (!mirrored.ok) throw new TypeError(`${what}: ${mirrored.fault}`);
}

/** @throws {TypeError} if `durable` is not a boolean */
function checkDurable({ name, durable }: ToolDescription & { readonly name: string }) {
  if (durable === undefined || typeof durable === 'boolean') return;
  throw new TypeError(
    `"durable" of the tool "${name}" must be a boolean, got ${inspectValue(durable)}`,
  );
}

/** @throws {TypeError} if the scopes are invalid */
function checkScopes(scopes: unknown, of: string): void {
  const fault = scopes === undefined ? undefined : validateScopes(scopes);
  if (fault !== undefined) throw new TypeError(`"scopes" of ${of} ${fault}`);
}

/** @throws {TypeError} if `errors` is not a known exposure */
export function checkErrorExposure(errors: unknown, of: string): void {
  if (errors === undefined || errorExposures.some((exposure) => exposure === errors)) return;
  throw new TypeError(
    `"errors" of ${of} must be one of ${errorExposures.join(', ')}, got ${inspectValue(errors)}`,
  );
}

/** Name of a tool's schema in messages. */
export function schemaLabel({ name }: { readonly name: string }, side: SchemaSide): string {
  return `The ${side}Schema of the tool "${name}"`;
}

const noArguments = { type: 'object', properties: {}, additionalProperties: false } as const;
