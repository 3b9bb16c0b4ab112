/**
 * Prompts, as authors write them.
 *
 * @see MCP 2025-11-25, server/prompts
 */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { ContentBlock } from '../../protocol/content.ts';
import type { DisplayInfo } from '../../protocol/display-info.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { isStandardSchema, looseJsonSchemaOf } from '../../../packages/schema/src/schema.ts';
import type { AcceptedBy, ParsedBy, StandardSchema } from '../../../packages/schema/src/schema.ts';
import { checkItem } from './item-faults.ts';
import type { ItemRules } from './item-faults.ts';
import type { Complete } from './resource.ts';
import { checkForSome } from './visible.ts';
import type { ForSome } from './visible.ts';

/** An argument of a prompt. On the wire, all arguments are strings. */
export interface PromptArgument {
  /** For people. */
  readonly title?: string;
  /** What to fill in. */
  readonly description?: string;
  /** Whether the prompt can do without it; by default it can. */
  readonly required?: boolean;
  /** Suggests values while the user types. */
  readonly complete?: Complete;
}

/** A prompt's arguments by name, in the order in which a client should ask for them. */
export type PromptArguments = {
  /** What is known of one argument. */
  readonly [name: string]: PromptArgument;
};

/** One message of a prompt. */
export interface PromptMessage {
  /** Who says it. */
  readonly role: 'user' | 'assistant';
  /** What is said. */
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

/** The names that an author's `arguments` declare. */
export type PromptArgumentName<TArguments> = string &
  keyof (TArguments extends StandardSchema ? AcceptedBy<TArguments> : TArguments);

/** What a client sends for an author's `arguments`: strings. */
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

/** What `get` receives. */
type PromptValues<TArguments> = TArguments extends StandardSchema
  ? ParsedBy<TArguments>
  : PromptStrings<TArguments>;

/** The arguments of a schema that take no string. */
type StringlessName<TSchema extends StandardSchema> = {
  readonly [K in keyof PromptStrings<TSchema>]-?: [NonNullable<PromptStrings<TSchema>[K]>] extends [
    never,
  ]
    ? K & string
    : never;
}[keyof PromptStrings<TSchema>];

/** What `arguments` must be, so that a compiler's error says it. */
type TakingStrings<TArguments> = TArguments extends StandardSchema
  ? [StringlessName<TArguments>] extends [never]
    ? StandardSchema
    : `A client sends strings, and "${StringlessName<TArguments>}" takes none: coerce it, as z.coerce does`
  : PromptArguments;

interface PromptDescription extends DisplayInfo, ForSome {
  readonly name: string;
}

/** A prompt; see {@link definePrompt}. */
export interface Prompt extends PromptDescription {
  /** What a client may fill in: by name, or as a Standard Schema of an object. */
  readonly arguments?: PromptArguments | StandardSchema;
  /** Completes arguments, by name. */
  readonly complete?: { readonly [name: string]: Complete | undefined };
  /** Makes the messages. It gets values that have passed `arguments`. */
  get(args: never, context: HandlerContext): PromptOutput | Promise<PromptOutput>;
}

/** A prompt with what is known of its name and its arguments. */
export interface DefinedPrompt<
  TName extends string,
  TArguments extends PromptArguments | StandardSchema,
> extends Prompt {
  /** As in its specification, with its literal type. */
  readonly name: TName;
  /** As in its specification. */
  readonly arguments?: TArguments;
}

/** What an author says of a prompt; see {@link definePrompt}. */
export interface PromptSpecification<
  TArguments extends PromptArguments | StandardSchema,
  TName extends string = string,
> extends PromptDescription {
  /** What clients ask for it by, once in a server. */
  readonly name: TName;
  /**
   * The arguments by name, or a Standard Schema of an object with them, in the order in which a
   * client should ask for them. A client sends strings; a schema may turn them into anything.
   */
  readonly arguments?: TArguments & TakingStrings<TArguments>;
  /** Completes arguments, by name; those without a schema may have their `complete` themselves. */
  readonly complete?: { readonly [K in PromptArgumentName<NoInfer<TArguments>>]?: Complete };
  /** Makes the messages from the arguments. What it throws is answered with an error. */
  get(
    args: NoInfer<PromptValues<TArguments>>,
    context: HandlerContext,
  ): PromptOutput | Promise<PromptOutput>;
}

/**
 * Defines a prompt. `get` receives the values typed after `arguments`.
 *
 * @throws {TypeError} a member is missing or unknown; a schema has no members, or its
 *   library cannot describe them; or `complete` names an argument that the prompt does not have
 */
export function definePrompt<
  const TArguments extends PromptArguments | StandardSchema = Record<never, never>,
  const TName extends string = string,
>(prompt: PromptSpecification<TArguments, TName>): DefinedPrompt<TName, TArguments> {
  checkItem(prompt, promptRules);
  checkForSome(prompt, `the prompt ${inspectValue(prompt.name)}`);
  // Read now, not when a client lists the prompts: an author sees a mistake at the line that has it.
  const names = Object.keys(promptArguments(prompt));
  const stray = Object.keys(prompt.complete ?? {}).find((name) => !names.includes(name));
  if (stray !== undefined) {
    throw new TypeError(
      `The prompt ${inspectValue(prompt.name)} has no argument ${inspectValue(stray)} to complete`,
    );
  }
  return prompt;
}

/** Read once for each prompt: a schema is converted for it. */
const declared = new WeakMap<Prompt, PromptArguments>();

/**
 * A prompt's arguments by name, in the order of its author.
 *
 * @throws {TypeError} `arguments` is neither that nor a Standard Schema of an object
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

/** An author may have written anything in JavaScript. An arktype schema is a function. */
function isSchema(written: unknown): written is StandardSchema {
  return (isJsonObject(written) || typeof written === 'function') && isStandardSchema(written);
}

/** @throws {TypeError} */
function checkArguments(described: unknown, prompt: string, what: string): void {
  if (!isJsonObject(described)) {
    throw new TypeError(
      `${what} must be an object of arguments by name, such as { city: { required: true } }, or a Standard Schema; this is ${inspectValue(described)}`,
    );
  }
  for (const [name, argument] of Object.entries(described)) {
    if (isJsonObject(argument)) continue;
    const hint =
      name === 'type' && isJsonObject(described['properties'])
        ? '. Is it a JSON Schema? Give its properties by name, or a Standard Schema'
        : '';
    throw new TypeError(
      `The argument ${inspectValue(name)} of the prompt ${inspectValue(prompt)} must be an object, this is ${inspectValue(argument)}${hint}`,
    );
  }
}

/**
 * The members of what a schema accepts, as arguments.
 *
 * @throws {TypeError} its library cannot describe them, or it describes anything but one object
 */
function membersOf(schema: StandardSchema, what: string): PromptArguments {
  const { properties, required, $defs } = looseJsonSchemaOf(schema, what);
  if (!isJsonObject(properties)) {
    throw new TypeError(`${what} must be a schema of one object with its members, not of a union`);
  }
  const members = Object.entries(properties).map(([name, member]): [string, PromptArgument] => {
    const { title, description } = resolved(member, $defs);
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

/** A member, or what it refers to: zod defines a schema that has an id beside the object. */
function resolved(member: unknown, definitions: unknown): JsonObject {
  if (!isJsonObject(member)) return {};
  const { $ref } = member;
  const id = typeof $ref === 'string' ? $ref.replace('#/$defs/', '') : undefined;
  const definition = id !== undefined && isJsonObject(definitions) ? definitions[id] : undefined;
  return isJsonObject(definition) ? { ...definition, ...member } : member;
}

/** What a prompt must have. */
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
