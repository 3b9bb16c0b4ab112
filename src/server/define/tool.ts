/**
 * Tools, as authors write them.
 *
 * @see MCP 2025-11-25, server/tools
 */
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
import { checkItem } from './item-faults.ts';
import type { ItemRules } from './item-faults.ts';
import { checkToolMachine } from './machine-faults.ts';
import { machineHandler } from './machine-handler.ts';
import { checkForSome } from './visible.ts';
import type { ForSome } from './visible.ts';
import type { Migrate } from './tool-machine.ts';

/**
 * What a model sees of an error that a tool threw and did not mean for it, as anything but a
 * `ToolError` and a `RuntimeError`: `show`: its message, never its stack; `mask`: an id, under
 * which the log has the error.
 */
export type ErrorExposure = (typeof errorExposures)[number];

const errorExposures = ['show', 'mask'] as const;

interface ToolDescription extends DisplayInfo, ForSome {
  /** 1 to 128 characters of `A-Z a-z 0-9 _ - .` */
  readonly name: string;
  /** For a model: what it does, when to use it. */
  readonly description: string;
  readonly annotations?: ToolAnnotations;
  /**
   * Whether a client may call the tool as a task and fetch the result later: `optional`,
   * `required`, or `forbidden`, the default. Clients of a revision without tasks see an ordinary
   * tool.
   *
   * @see MCP 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"
   */
  readonly taskSupport?: TaskSupport;
  /**
   * The app that hosts show for the tool; its resource must be one of the server's, see
   * {@link defineAppResource}. Other clients get the result: give it a text that says all.
   *
   * @see MCP Apps 2026-01-26
   */
  readonly ui?: ToolUi;
  /**
   * What a caller's access token must allow, all of it; served over HTTP with authorization, a call
   * with less is refused before the handler runs, and the client is told which scopes to ask for.
   * Without authorization they mean nothing.
   *
   * @see MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
   */
  readonly scopes?: readonly string[];
  /** What a model sees of an unexpected error; by default what the server's `errors` says. */
  readonly errors?: ErrorExposure;
  /**
   * Since 2026-07-28 a call that asks its client ends, and goes on when the client calls again with
   * the answers. If that is too late, or in another process, the handler is run again, and is given
   * the same answers. `false` refuses that: the model is told to call anew.
   */
  readonly replay?: boolean;
  /**
   * Lets tasks and ordinary calls of the tool survive their process, if the server has a durable store: the next
   * process runs the handler again, with the recorded answers, the values of `context.once`, and the checkpoint. So put
   * everything that must not happen twice in `context.once`. A machine resumes in its state by default; `false` opts out.
   */
  readonly durable?: boolean;
  /** Refuses answers that come a second time; by default the first outcome is given again. */
  readonly singleUse?: boolean;
}

/** A tool; see {@link defineTool}. */
export interface Tool extends ToolDescription {
  /** What the arguments must conform to before `handler` sees them. */
  readonly inputSchema: Schema;
  /** What `structured` of each result must conform to. Without it, a tool gives content alone. */
  readonly outputSchema?: Schema;
  /** Gets arguments that have passed `inputSchema`. */
  handler(args: never, context: HandlerContext): unknown;
}

/** A tool with what is known of its name and its schemas: the test kit's client is typed after it. */
export interface DefinedTool<
  TName extends string,
  TInput extends Schema,
  TOutput extends Schema | undefined,
> extends Tool {
  /** As in its specification, with its literal type. */
  readonly name: TName;
  /** As in its specification; of a tool without one, an object that takes nothing. */
  readonly inputSchema: TInput;
  /** As in its specification. */
  readonly outputSchema?: NonNullable<TOutput>;
}

/**
 * A complete tool result. `structured` must conform to the tool's `outputSchema`. If `content` is
 * absent, the client gets `structured` as JSON text.
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
export interface ToolResult {
  /** For the model and for people. By default `structured` as JSON text. */
  readonly content?: readonly ContentBlock[];
  /** For programs: a value that conforms to `outputSchema`. */
  readonly structured?: Structured;
  /** The call failed, and the model should read why in `content`. By default it did not. */
  readonly isError?: boolean;
  /** Anything else, under prefixed keys, passed on as it is. */
  readonly _meta?: JsonObject;
}

/** An object that JSON writes as one: no Date, Map, Set or array. */
type Structured = object & {
  readonly [Symbol.iterator]?: never;
  readonly getTime?: never;
};

/** The return value of a handler: a text, content blocks, or a complete result. */
export type ToolOutput = string | readonly ContentBlock[] | ToolResult;

/**
 * The result of a tool with an `outputSchema`: a value that conforms, or an error for the model.
 */
export type StructuredOutput<T> =
  | {
      readonly structured: T;
      /** By default the value as JSON text. */
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

/**
 * A result is only read, so constant values will do, even if a library types its arrays as mutable.
 */
type Frozen<T> = unknown extends T
  ? T
  : T extends Primitive | ((...args: never[]) => unknown)
    ? T
    : { readonly [K in keyof T]: Frozen<T[K]> };

/** What an author says of a tool; see {@link defineTool}. */
export interface ToolSpecification<
  TInput extends Schema,
  TOutput extends Schema | undefined,
  TReturned extends Returned<TOutput> = Returned<TOutput>,
  TName extends string = string,
> extends ToolDescription {
  /** Letters, digits, `_`, `-` and `.`, at most 128 of them, once in a server. */
  readonly name: TName;
  /**
   * A Standard Schema that can be converted to JSON Schema, or a JSON Schema as a value. Without
   * it, the tool takes no arguments.
   */
  readonly inputSchema?: TInput;
  /** If given, every result has a `structured` value that conforms to it. */
  readonly outputSchema?: TOutput;
  /**
   * Gets arguments that have passed `inputSchema`. What it throws becomes a result with `isError`,
   * but for a `ProtocolError`.
   */
  readonly handler: (args: NoInfer<ParsedBy<TInput>>, context: HandlerContext) => TReturned;
  /** A tool is a handler or a machine: see {@link MachineToolSpecification}. */
  readonly machine?: never;
  /** For tools that are machines. */
  readonly migrate?: never;
}

/** A tool that is a machine: {@link ToolSpecification} with `machine` in place of `handler`. */
export interface MachineToolSpecification<
  TInput extends Schema,
  TMachine extends AnyStateMachine,
  TName extends string = string,
> extends ToolDescription {
  readonly name: TName;
  readonly inputSchema?: TInput;
  readonly outputSchema?: Schema;
  /**
   * Its input is the arguments, its output the result. States with the tag `waiting` ask the client
   * what their `meta.ask` says, see {@link ToolQuestion}, and hear a {@link ToolAnswer}. While it
   * waits, nothing but its snapshot is kept.
   */
  readonly machine: ParsedBy<TInput> extends InputFrom<TMachine> ? TMachine : never;
  /**
   * Maps the state of an earlier version of the machine that this version does not have. Without it a task in such a
   * state does not go on here, and is left to processes that have the state.
   */
  readonly migrate?: Migrate;
  readonly handler?: never;
}

/**
 * What a handler returns, at once or as a promise. A constant type parameter extends it, so that a
 * literal in a result keeps its literal type.
 */
type Returned<TOutput> = TOutput extends Schema
  ?
      | StructuredOutput<Frozen<AcceptedBy<TOutput>>>
      | Promise<StructuredOutput<Frozen<AcceptedBy<TOutput>>>>
  : ToolOutput | Promise<ToolOutput>;

/**
 * `T`, which is not inferred from what a result is used for: a list of tools would make a tool that
 * names no schema one of any schema. `NoInfer` would stay in the type.
 */
type Uninferred<T> = [T] extends [infer U extends T] ? U : never;

/** What a tool must have. */
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
  defined: { by: 'defineTool', adds: 'inputSchema' },
};

/**
 * Defines a tool. The schemas type the handler's arguments and its structured output.
 *
 * @throws {TypeError} a member is missing or unknown; the specification does not allow the
 *   name or the `taskSupport`; or a schema
 *   does not describe objects, or its library cannot convert it to JSON Schema, or it declares an
 *   `x-mcp-header` where none may be, or has a fault, such as a `$ref` to nowhere: the message names
 *   its place. Or its machine could not be resumed in a state in which it waits: the message names
 *   the state
 * @see MCP 2025-11-25, server/tools, "Tool Names"
 */
export function defineTool<
  const TInput extends Schema = typeof noArguments,
  const TOutput extends Schema | undefined = undefined,
  const TReturned extends Returned<TOutput> = Returned<TOutput>,
  const TName extends string = string,
  TMachine extends AnyStateMachine = AnyStateMachine,
>(
  tool:
    | ToolSpecification<TInput, TOutput, TReturned, TName>
    | MachineToolSpecification<TInput, TMachine, TName>,
): DefinedTool<TName, Uninferred<TInput>, Uninferred<TOutput>> {
  // Somebody without TypeScript may have given nothing at all.
  const given = tool as typeof tool | undefined;
  checkItem(given, given?.machine ? { ...toolRules, functions: [] } : toolRules);
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(tool.name)) {
    throw new TypeError(
      `A tool's name has 1 to 128 characters of A-Z a-z 0-9 _ - . ; this is ${JSON.stringify(tool.name)}`,
    );
  }
  if (tool.taskSupport !== undefined && !taskSupports.includes(tool.taskSupport)) {
    throw new TypeError(
      `taskSupport is one of ${taskSupports.join(', ')}; of the tool "${tool.name}" it is ${inspectValue(tool.taskSupport)}`,
    );
  }
  checkDurable(tool);
  checkToolUi(tool.ui, `the tool "${tool.name}"`, tool._meta);
  checkScopes(tool.scopes, `the tool "${tool.name}"`);
  checkErrorExposure(tool.errors, `the tool "${tool.name}"`);
  checkForSome(tool, `the tool "${tool.name}"`);
  const { machine } = tool;
  if (machine) checkToolMachine(machine, `the tool "${tool.name}"`);
  const handler = machine ? machineHandler(machine, tool.migrate) : tool.handler;
  const defined = { inputSchema: noArguments, ...tool, handler } as Tool;
  // Converted now, not when a client lists the tools: an author sees a mistake at the line that has
  // it.
  const input = jsonSchemaOf(defined.inputSchema, 'input', schemaOf(tool, 'input'));
  if (defined.outputSchema) jsonSchemaOf(defined.outputSchema, 'output', schemaOf(tool, 'output'));
  checkOf(defined.inputSchema, 'input', schemaOf(tool, 'input'));
  if (defined.outputSchema) checkOf(defined.outputSchema, 'output', schemaOf(tool, 'output'));
  checkMirrored(input, schemaOf(tool, 'input'));
  // If the author names no schema, TInput is the type of noArguments.
  return defined as DefinedTool<TName, Uninferred<TInput>, Uninferred<TOutput>>;
}

/** @throws {TypeError} clients over HTTP would leave the tool out */
function checkMirrored(schema: ObjectSchema, what: string): void {
  const mirrored = mirroredParameters(schema);
  if (!mirrored.ok) throw new TypeError(`${what}: ${mirrored.fault}`);
}

/** @throws {TypeError} */
function checkDurable({ name, durable }: ToolDescription & { readonly name: string }) {
  if (durable === undefined || typeof durable === 'boolean') return;
  throw new TypeError(
    `"durable" of the tool "${name}" must be a boolean, it is ${inspectValue(durable)}`,
  );
}

/** @throws {TypeError} they are not such hints */
function checkScopes(scopes: unknown, of: string): void {
  const fault = scopes === undefined ? undefined : validateScopes(scopes);
  if (fault !== undefined) throw new TypeError(`"scopes" of ${of} ${fault}`);
}

/** @throws {TypeError} it is not one of these */
export function checkErrorExposure(errors: unknown, of: string): void {
  if (errors === undefined || errorExposures.some((exposure) => exposure === errors)) return;
  throw new TypeError(
    `errors is one of ${errorExposures.join(', ')}; of ${of} it is ${inspectValue(errors)}`,
  );
}

/** Names a tool's schema in messages. */
export function schemaOf({ name }: { readonly name: string }, side: SchemaSide): string {
  return `The ${side}Schema of the tool "${name}"`;
}

const noArguments = { type: 'object', properties: {}, additionalProperties: false } as const;
