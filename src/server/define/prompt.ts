/**
 * Definition of prompts.
 *
 * @see MCP 2025-11-25, server/prompts
 */
import { withAuthorStack } from '../../protocol/author-stack.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { ContentBlock } from '../../protocol/content.ts';
import type { DisplayInfo } from '../../protocol/display-info.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { isStandardSchema, looseJsonSchemaOf } from '../../../packages/schema/src/schema.ts';
import type { AcceptedBy, ParsedBy, StandardSchema } from '../../../packages/schema/src/schema.ts';
import { checkItem } from './item-rules.ts';
import type { ItemRules } from './item-rules.ts';
import type { Complete } from './resource.ts';
import { checkVisibilityOptions } from './visible.ts';
import type { VisibilityOptions } from './visible.ts';

/** Argument of a prompt. All arguments are strings on the wire. */
export interface PromptArgument {
  /** Display name. */
  readonly title?: string;
  /** Explains the argument to the user. */
  readonly description?: string;
  /** True if the argument must be given. Default: false. */
  readonly required?: boolean;
  /** Completes the value while the user types. */
  readonly complete?: Complete;
}

/** Arguments of a prompt by name, in the order shown to the user. */
export type PromptArguments = {
  /** Argument description. */
  readonly [name: string]: PromptArgument;
};

/** One message of a prompt. */
export interface PromptMessage {
  /** Author of the message. */
  readonly role: 'user' | 'assistant';
  /** One content block, see {@link content}. */
  readonly content: ContentBlock;
}

/** Result of a prompt. A string becomes one user message. */
export type PromptOutput =
  | string
  | readonly PromptMessage[]
  | {
      /** Default: the description of the prompt. */
      readonly description?: string;
      readonly messages: readonly PromptMessage[];
      readonly _meta?: JsonObject;
    };

/** Argument names declared by `arguments`. */
export type PromptArgumentName<TArguments> = string &
  keyof (TArguments extends StandardSchema ? AcceptedBy<TArguments> : TArguments);

/** Wire form of the arguments: strings. */
export type PromptStrings<TArguments> = TArguments extends StandardSchema
  ? { readonly [K in keyof AcceptedBy<TArguments>]: AcceptedBy<TArguments>[K] & string }
  : {
      readonly [
        K in keyof TArguments as TArguments[K] extends { readonly required: true } ? K : never
      ]: string;
    } & {
      readonly [
        K in keyof TArguments as TArguments[K] extends { readonly required: true } ? never : K
      ]?: string;
    };

/** Parsed arguments, as passed to `get`. */
type PromptValues<TArguments> = TArguments extends StandardSchema
  ? ParsedBy<TArguments>
  : PromptStrings<TArguments>;

/** Names of arguments whose schema accepts no string. */
type NonStringName<TSchema extends StandardSchema> = {
  readonly [K in keyof PromptStrings<TSchema>]-?: [NonNullable<PromptStrings<TSchema>[K]>] extends [
    never,
  ]
    ? K & string
    : never;
}[keyof PromptStrings<TSchema>];

/** Required type of `arguments`. The template literal is the compiler's error message. */
type StringArguments<TArguments> = TArguments extends StandardSchema
  ? [NonStringName<TArguments>] extends [never]
    ? StandardSchema
    : `"${NonStringName<TArguments>}" must accept a string: coerce it, for example with z.coerce`
  : PromptArguments;

interface PromptDescription extends DisplayInfo, VisibilityOptions {
  readonly name: string;
}

/** A defined prompt; see {@link definePrompt}. */
export interface Prompt extends PromptDescription {
  /** Arguments by name, or a Standard Schema of an object. */
  readonly arguments?: PromptArguments | StandardSchema;
  /** Completers by argument name. */
  readonly complete?: { readonly [name: string]: Complete | undefined };
  /** Returns the messages for validated arguments. */
  get(args: never, context: HandlerContext): PromptOutput | Promise<PromptOutput>;
}

/** A prompt typed with its literal name and its arguments. */
export interface DefinedPrompt<
  TName extends string,
  TArguments extends PromptArguments | StandardSchema,
> extends Prompt {
  /** Literal name of the prompt. */
  readonly name: TName;
  /** Arguments with their types. */
  readonly arguments?: TArguments;
}

/** Input of {@link definePrompt}. */
export interface PromptSpecification<
  TArguments extends PromptArguments | StandardSchema,
  TName extends string = string,
> extends PromptDescription {
  /** Unique name within the server. */
  readonly name: TName;
  /**
   * Arguments by name, or a Standard Schema of an object, in the order shown to the user. Clients
   * send strings; a schema may transform them.
   */
  readonly arguments?: TArguments & StringArguments<TArguments>;
  /** Completers by argument name. Arguments without a schema can have their own `complete` instead. */
  readonly complete?: { readonly [K in PromptArgumentName<NoInfer<TArguments>>]?: Complete };
  /** Returns the messages for the arguments. A thrown error becomes a JSON-RPC error. */
  get(
    args: NoInfer<PromptValues<TArguments>>,
    context: HandlerContext,
  ): PromptOutput | Promise<PromptOutput>;
}

/**
 * Defines a prompt. The type of the values passed to `get` follows from `arguments`.
 *
 * @throws {TypeError} if a member is missing, unknown or invalid, if the schema has no members or its
 *   library cannot convert it to JSON Schema, or if `complete` names an unknown argument
 * @see MCP 2025-11-25, server/prompts
 */
export function definePrompt<
  const TArguments extends PromptArguments | StandardSchema = Record<never, never>,
  const TName extends string = string,
>(prompt: PromptSpecification<TArguments, TName>): DefinedPrompt<TName, TArguments> {
  return withAuthorStack(definePrompt, () => {
    checkItem(prompt, promptRules);
    checkVisibilityOptions(prompt, `the prompt ${inspectValue(prompt.name)}`);
    // Convert the schema now, so that errors point at the definition.
    const names = Object.keys(promptArguments(prompt));
    const stray = Object.keys(prompt.complete ?? {}).find((name) => !names.includes(name));
    if (stray !== undefined) {
      throw new TypeError(
        `The prompt ${inspectValue(prompt.name)} has no argument ${inspectValue(stray)} to complete`,
      );
    }
    return prompt;
  });
}

/** Cached arguments by prompt, because converting a schema is expensive. */
const declared = new WeakMap<Prompt, PromptArguments>();

/**
 * Arguments of a prompt by name, in definition order.
 *
 * @throws {TypeError} if `arguments` is neither an object of arguments nor a Standard Schema of an object
 */
export function promptArguments(prompt: Prompt): PromptArguments {
  const known = declared.get(prompt);
  if (known) return known;
  const { arguments: written = {}, complete = {} } = prompt;
  const what = `"arguments" of the prompt ${inspectValue(prompt.name)}`;
  const described = isSchema(written) ? membersOf(written, what) : written;
  checkArguments(described, prompt.name, what);
  const completed = Object.entries(described).map(([name, argument]) => [
    name,
    Object.hasOwn(complete, name) ? { ...argument, complete: complete[name] } : argument,
  ]);
  const args = Object.fromEntries(completed) as PromptArguments;
  declared.set(prompt, args);
  return args;
}

/** Unchecked in JavaScript. An arktype schema is a function. */
function isSchema(written: unknown): written is StandardSchema {
  return (isJsonObject(written) || typeof written === 'function') && isStandardSchema(written);
}

/** @throws {TypeError} if any argument is not an object */
function checkArguments(described: unknown, prompt: string, what: string): void {
  if (!isJsonObject(described)) {
    throw new TypeError(
      `${what} must be an object of arguments by name, such as { city: { required: true } }, or a Standard Schema, got ${inspectValue(described)}`,
    );
  }
  for (const [name, argument] of Object.entries(described)) {
    if (isJsonObject(argument)) continue;
    const hint =
      name === 'type' && isJsonObject(described['properties'])
        ? '. For a JSON Schema, pass its properties by name, or use a Standard Schema'
        : '';
    throw new TypeError(
      `The argument ${inspectValue(name)} of the prompt ${inspectValue(prompt)} must be an object, got ${inspectValue(argument)}${hint}`,
    );
  }
}

/**
 * Converts the members of an object schema to arguments.
 *
 * @throws {TypeError} if the schema cannot be converted or does not describe an object
 */
function membersOf(schema: StandardSchema, what: string): PromptArguments {
  const { properties, required, $defs } = looseJsonSchemaOf(schema, what);
  if (!isJsonObject(properties)) {
    throw new TypeError(
      `${what} must be a schema of an object with known members, got a schema without "properties", such as a union`,
    );
  }
  const members = Object.entries(properties).map(([name, member]): [string, PromptArgument] => {
    const { title, description } = resolveRef(member, $defs);
    return [
      name,
      {
        ...(typeof title === 'string' ? { title } : {}),
        ...(typeof description === 'string' ? { description } : {}),
        required: Array.isArray(required) && required.includes(name),
      },
    ];
  });
  return Object.fromEntries(members);
}

/** Resolves a `$ref` into `$defs`, where zod puts schemas with an id. */
function resolveRef(member: unknown, definitions: unknown): JsonObject {
  if (!isJsonObject(member)) return {};
  const { $ref } = member;
  const id = typeof $ref === 'string' ? $ref.replace('#/$defs/', '') : undefined;
  const definition = id !== undefined && isJsonObject(definitions) ? definitions[id] : undefined;
  return isJsonObject(definition) ? { ...definition, ...member } : member;
}

/** Validation rules of prompts. */
export const promptRules: ItemRules = {
  kind: 'prompt',
  key: 'name',
  functions: ['get'],
  members: {
    name: true,
    title: true,
    description: true,
    icons: true,
    _meta: true,
    arguments: true,
    complete: true,
    visible: true,
    tags: true,
    get: true,
  } satisfies Record<keyof Prompt, true>,
  synonyms: {
    handler: 'get',
    load: 'get',
    callback: 'get',
    argsSchema: 'arguments',
    inputSchema: 'arguments',
  },
};
