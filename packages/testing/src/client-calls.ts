/**
 * The calls of a test client, typed by its server. A server's type tells the tools and prompts of
 * its definition; `McpServer` alone tells nothing, and then every name is taken.
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

/** What a test may say of one call. */
export interface CallOptions {
  /** Becomes `params._meta`. */
  readonly meta?: JsonObject;
  /** Cancels the request: the session is told, and the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Asks for progress, and is called with each report, as a client's is. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
}

type Strings = { readonly [name: string]: string };

/** The calls of a client of any server. */
export interface AnyCalls {
  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<CallResult>;
  getPrompt(name: string, args?: Strings, options?: CallOptions): Promise<PromptResult>;
  complete(
    of: { readonly prompt: string } | { readonly uriTemplate: string },
    argument: { readonly name: string; readonly value: string },
    filled?: Strings,
  ): Promise<Completion>;
}

/** The calls of a client whose server's type tells its tools and prompts. */
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
   * @param of the prompt, or the template
   * @param filled the other arguments, as far as they are filled in
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

/** The names of items; any name if the list is empty or if the type of an item does not tell its. */
type NameIn<TItems extends readonly Named[]> = [TItems[number]] extends [never]
  ? string
  : TItems[number]['name'];

/** The item that has this name; never if no type tells of it. */
type NamedIn<TItems extends readonly Named[], TName extends string> = string extends TName
  ? never
  : Extract<TItems[number], { readonly name: TName }>;

/** The arguments of a call, and its options. They may be left out if none is required. */
type Given<TArguments> =
  Record<never, never> extends TArguments
    ? [args?: TArguments, options?: CallOptions]
    : [args: TArguments, options?: CallOptions];

type NoArguments = { readonly [name: string]: never };

/** What a tool accepts. */
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

/** What a client sends to a prompt. */
type PromptGiven<TPrompt extends Prompt> = [TPrompt] extends [never]
  ? Strings
  : [ArgumentName<TPrompt>] extends [never]
    ? NoArguments
    : PromptStrings<NonNullable<TPrompt['arguments']>>;

type ArgumentName<TPrompt extends Prompt> = PromptArgumentName<NonNullable<TPrompt['arguments']>>;

/** What may be completed: an argument of the prompt, if its type tells them. */
type CompletedName<TPrompts extends readonly Prompt[], TOf> = TOf extends {
  readonly prompt: infer TName extends string;
}
  ? [NamedIn<TPrompts, TName>] extends [never]
    ? string
    : ArgumentName<NamedIn<TPrompts, TName>>
  : string;
