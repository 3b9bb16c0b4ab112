/**
 * Calls of a test client, typed by its server. A server's type knows the tools and prompts of its
 * definition; plain `McpServer` accepts every name.
 */
import type {
  Prompt,
  PromptArgumentName,
  PromptStrings,
} from '../../../src/server/define/prompt.ts';
import type { Tool } from '../../../src/server/define/tool.ts';
import type { ProgressReport } from '../../../src/protocol/dialects/dialect.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { AcceptedBy, ParsedBy } from '../../schema/src/schema.ts';
import type { CallResult, PromptResult } from './call-results.ts';
import type { Completion } from '../../../src/protocol/list-items.ts';

/** Options of one call. */
export interface CallOptions {
  /** Sent as `params._meta`. */
  readonly meta?: JsonObject;
  /** Cancels the request: notifies the session and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Requests progress and is called with each report. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
}

type Strings = { readonly [name: string]: string };

/** Calls of a client of any server. */
export interface AnyCalls {
  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<CallResult>;
  getPrompt(name: string, args?: Strings, options?: CallOptions): Promise<PromptResult>;
  complete(
    of: { readonly prompt: string } | { readonly uriTemplate: string },
    argument: { readonly name: string; readonly value: string },
    filled?: Strings,
  ): Promise<Completion>;
}

/** Calls of a client of a server with known tools and prompts. */
interface KnownCalls<TTools extends readonly Tool[], TPrompts extends readonly Prompt[]> {
  /** Calls a tool. To send what its type forbids, use `request('tools/call', …)`. */
  callTool<const TName extends NameIn<TTools>>(
    name: TName,
    ...given: Given<ToolArguments<NamedIn<TTools, TName>>>
  ): Promise<CallResult<ToolStructured<NamedIn<TTools, TName>>>>;

  /** Gets a prompt. To send what its type forbids, use `request('prompts/get', …)`. */
  getPrompt<const TName extends NameIn<TPrompts>>(
    name: TName,
    ...given: Given<PromptGiven<NamedIn<TPrompts, TName>>>
  ): Promise<PromptResult>;

  /**
   * Completes an argument of a prompt, or a variable of a resource template.
   *
   * @param of prompt or template
   * @param filled other arguments filled in so far
   */
  complete<
    const TOf extends { readonly prompt: NameIn<TPrompts> } | { readonly uriTemplate: string },
  >(
    of: TOf,
    argument: { readonly name: CompletedName<TPrompts, TOf>; readonly value: string },
    filled?: Strings,
  ): Promise<Completion>;
}

/** The calls of a client of a server with these tools and prompts. */
export type CallsOf<TTools extends readonly Tool[], TPrompts extends readonly Prompt[]> = [
  readonly Tool[],
  readonly Prompt[],
] extends [TTools, TPrompts]
  ? AnyCalls
  : KnownCalls<TTools, TPrompts>;

interface Named {
  readonly name: string;
}

/** Names of items; any name if they are unknown. */
type NameIn<TItems extends readonly Named[]> = [TItems[number]] extends [never]
  ? string
  : TItems[number]['name'];

/** Item with this name; never if unknown. */
type NamedIn<TItems extends readonly Named[], TName extends string> = string extends TName
  ? never
  : Extract<TItems[number], { readonly name: TName }>;

/** Arguments and options of a call. Optional if no argument is required. */
type Given<TArguments> =
  Record<never, never> extends TArguments
    ? [args?: TArguments, options?: CallOptions]
    : [args: TArguments, options?: CallOptions];

type NoArguments = { readonly [name: string]: never };

/** Input type of a tool. */
type ToolArguments<TTool extends Tool> = [TTool] extends [never]
  ? JsonObject
  : TTool['inputSchema'] extends {
        readonly properties: infer TProperties;
        readonly additionalProperties: false;
      }
    ? [keyof TProperties] extends [never]
      ? NoArguments
      : AcceptedBy<TTool['inputSchema']>
    : AcceptedBy<TTool['inputSchema']>;

/** The structured result of a tool that has an `outputSchema`; any object of one that has none. */
type ToolStructured<TTool extends Tool> = [NonNullable<TTool['outputSchema']>] extends [never]
  ? JsonObject
  : ParsedBy<NonNullable<TTool['outputSchema']>>;

/** Argument type of a prompt. */
type PromptGiven<TPrompt extends Prompt> = [TPrompt] extends [never]
  ? Strings
  : [ArgumentName<TPrompt>] extends [never]
    ? NoArguments
    : PromptStrings<NonNullable<TPrompt['arguments']>>;

type ArgumentName<TPrompt extends Prompt> = PromptArgumentName<NonNullable<TPrompt['arguments']>>;

/** Arguments that can be completed, if known. */
type CompletedName<TPrompts extends readonly Prompt[], TOf> = TOf extends {
  readonly prompt: infer TName extends string;
}
  ? [NamedIn<TPrompts, TName>] extends [never]
    ? string
    : ArgumentName<NamedIn<TPrompts, TName>>
  : string;
