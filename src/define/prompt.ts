/**
 * Prompts, as authors write them.
 *
 * @see MCP 2025-11-25, server/prompts
 */
import { describe, isJsonObject } from '../protocol/classify.ts';
import type { ContentBlock } from '../protocol/content.ts';
import type { Described } from '../protocol/described.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { checkItem } from './item-faults.ts';
import type { ItemRules } from './item-faults.ts';
import type { Complete } from './resource.ts';

/** An argument of a prompt. On the wire, all arguments are strings. */
export interface PromptArgument {
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly complete?: Complete;
}

export type PromptArguments = { readonly [name: string]: PromptArgument };

export interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock;
}

/** The result of a prompt. A string becomes one message of the user. */
export type PromptOutput =
  | string
  | readonly PromptMessage[]
  | {
      /** By default the prompt's own description. */
      readonly description?: string;
      readonly messages: readonly PromptMessage[];
      readonly _meta?: JsonObject;
    };

type PromptValues<TArguments> = {
  readonly [
    K in keyof TArguments as TArguments[K] extends { readonly required: true } ? K : never
  ]: string;
} & {
  readonly [
    K in keyof TArguments as TArguments[K] extends { readonly required: true } ? never : K
  ]?: string;
};

/** A prompt; see {@link definePrompt}. */
export interface Prompt extends Described {
  readonly name: string;
  /** In the order in which a client should ask for them. */
  readonly arguments?: PromptArguments;
  get(args: never, context: HandlerContext): PromptOutput | Promise<PromptOutput>;
}

export interface PromptSpecification<TArguments extends PromptArguments> extends Described {
  readonly name: string;
  /** In the order in which a client should ask for them. */
  readonly arguments?: TArguments & PromptArguments;
  get(
    args: PromptValues<TArguments>,
    context: HandlerContext,
  ): PromptOutput | Promise<PromptOutput>;
}

/**
 * Defines a prompt. `get` receives the values typed after `arguments`.
 *
 * @throws {TypeError} a member is missing or is none of ours
 */
export function definePrompt<const TArguments extends PromptArguments = Record<never, never>>(
  prompt: PromptSpecification<TArguments>,
): Prompt {
  checkItem(prompt, rules);
  const { name, arguments: args } = prompt;
  if (args !== undefined && !isJsonObject(args)) {
    throw new TypeError(
      `"arguments" of the prompt ${describe(name)} must be an object of arguments by name, such as { city: { required: true } }; this is ${describe(args)}`,
    );
  }
  for (const [argument, described] of Object.entries(args ?? {})) {
    if (isJsonObject(described)) continue;
    throw new TypeError(
      `The argument ${describe(argument)} of the prompt ${describe(name)} must be an object, this is ${describe(described)}`,
    );
  }
  return prompt;
}

const rules: ItemRules = {
  kind: 'prompt',
  key: 'name',
  functions: ['get'],
  synonyms: { handler: 'get', load: 'get', callback: 'get', argsSchema: 'arguments' },
};
