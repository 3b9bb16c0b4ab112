/**
 * Prompts, as their authors write them.
 *
 * @see MCP 2025-11-25, server/prompts
 */
import type { ContentBlock } from '../protocol/content.ts';
import type { Described } from '../protocol/described.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { Complete } from './resource.ts';

/** One argument of a prompt. All are strings on the wire. */
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

/** What a prompt gives: a string is one message of the user's. */
export type PromptOutput =
  | string
  | readonly PromptMessage[]
  | {
      /** Where absent, the prompt's own. */
      readonly description?: string;
      readonly messages: readonly PromptMessage[];
      readonly _meta?: JsonObject;
    };

type ValuesOf<TArguments> = {
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
  /** In the order in which a client asks for them. */
  readonly arguments?: PromptArguments;
  get(args: never, context: HandlerContext): PromptOutput | Promise<PromptOutput>;
}

export interface PromptSpecification<TArguments extends PromptArguments> extends Described {
  readonly name: string;
  /** In the order in which a client asks for them. */
  readonly arguments?: TArguments & PromptArguments;
  get(args: ValuesOf<TArguments>, context: HandlerContext): PromptOutput | Promise<PromptOutput>;
}

/** Defines a prompt. The type of the values is taken from `arguments`. */
export function definePrompt<const TArguments extends PromptArguments = Record<never, never>>(
  prompt: PromptSpecification<TArguments>,
): Prompt {
  return prompt as Prompt;
}
