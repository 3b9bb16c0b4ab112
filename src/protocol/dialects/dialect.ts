/**
 * A dated revision of the protocol, as a server speaks it: how everything that a server has to say looks to a client of that revision.
 *
 * What comes in is neutral: the latest form of it, whoever the client is. What comes out is for the wire. A member or a kind of content
 * that the revision does not know is left out or told in words; what cannot be told at all is refused with an error that says so.
 * Outside of `src/protocol` nothing asks which revision it has: it calls a projection.
 */
import type { ContentBlock, ResourceContents } from '../content.ts';
import type { Described } from '../described.ts';
import type { ProtocolError, RuntimeError, ToolError } from '../errors.ts';
import type { FormDescription } from '../form.ts';
import type { JsonObject, RequestId, WireError } from '../frames.ts';
import type { ServerDescription } from '../implementation.ts';
import type { TaskRequest, TaskSupport } from '../tasks.ts';

/** A tool as a list shows it, with its schemas as JSON Schema. */
export interface ToolItem extends Described {
  readonly name: string;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object;
  readonly taskSupport?: TaskSupport;
}

/** What has contents of a type, with hints about them. */
export interface TypedItem extends Described {
  readonly mimeType?: string;
  readonly annotations?: object;
}

/** A resource as a list shows it. */
export interface ResourceItem extends TypedItem {
  readonly uri: string;
  readonly name: string;
  readonly size?: number;
}

/** A resource template as a list shows it. */
export interface TemplateItem extends TypedItem {
  readonly uriTemplate: string;
  readonly name: string;
}

/** A prompt as a list shows it. */
export interface PromptItem extends Described {
  readonly name: string;
  readonly arguments?: { readonly [name: string]: PromptArgumentItem };
}

export interface PromptArgumentItem extends Described {
  readonly required?: boolean;
}

/** What a tool gave, checked. */
export interface ToolResultItem {
  readonly content: readonly ContentBlock[];
  readonly structured: JsonObject | undefined;
  readonly isError: boolean;
  readonly _meta: JsonObject | undefined;
}

/** What a progress notification says. */
export interface ProgressReport {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A conversation that a model is to go on with: the other params of the request stand beside its messages. */
export interface ConversationItem extends JsonObject {
  readonly messages: readonly ConversationMessage[];
}

export interface ConversationMessage {
  readonly role: string;
  readonly content: readonly { readonly type: string }[];
  readonly _meta?: JsonObject | undefined;
}

export interface Dialect {
  /** The date that names the revision on the wire. */
  readonly version: string;

  // The connection.

  /** The result of `initialize`. What the revision does not know is not declared. */
  initializeResult(server: ServerDescription): JsonObject;
  /** True for a request that a client of this revision may send. */
  offers(method: string): boolean;
  /** Why a batch of so many messages is not taken; undefined if it is. */
  batchRefusal(messages: number, maxMessages: number): WireError | undefined;

  // What a server has.

  tool(tool: ToolItem): JsonObject;
  resource(resource: ResourceItem): JsonObject;
  template(template: TemplateItem): JsonObject;
  prompt(prompt: PromptItem): JsonObject;

  // What a handler gave.

  /** Blocks that a client of this revision can read, one for each. */
  content(blocks: readonly ContentBlock[]): readonly ContentBlock[];
  /** The contents of a resource, embedded or read. */
  contents(contents: ResourceContents): ResourceContents;
  /** The result of `tools/call`. */
  toolResult(result: ToolResultItem): JsonObject;
  /**
   * The result of a tool call whose arguments have failed the tool's schema.
   * @throws {ProtocolError} -32602 in a revision in which they are an error of the request
   */
  invalidArguments(message: string): JsonObject;
  /** The result of a tool call that has failed in a way that a model may recover from. */
  toolFailure(error: ToolError | RuntimeError): JsonObject;
  /** The error for a resource that is not there. */
  resourceNotFound(uri: string): ProtocolError;
  /** The params of a progress notification. */
  progress(token: RequestId, step: ProgressReport): JsonObject;

  // What a client asks for beside its request.

  /**
   * The task that a client wants a tool call to be; undefined for an ordinary call.
   * @throws {ProtocolError} -32601 if the tool may not be called in this way, -32602
   */
  taskRequest(
    tool: { readonly name: string; readonly taskSupport?: TaskSupport },
    params: JsonObject | undefined,
  ): TaskRequest | undefined;
  /** What has been filled in already, in a request for completion; it is not checked. */
  completionContext(params: JsonObject | undefined): unknown;

  // What a server asks its client.

  /**
   * What a client with these capabilities lacks for a request of ours, as the end of a sentence about it; undefined if it lacks nothing.
   * A method that the revision does not know is between a handler and its client.
   */
  lacking(
    method: string,
    params: JsonObject | undefined,
    capabilities: JsonObject,
  ): string | undefined;
  /**
   * The params of `sampling/createMessage`.
   * @throws {RuntimeError} CAPABILITY_MISSING for content that the revision does not know
   */
  sampling(conversation: ConversationItem): JsonObject;
  /**
   * The params of `elicitation/create` with a form.
   * @throws {RuntimeError} CAPABILITY_MISSING for a field that the revision does not know, or if it has no forms
   */
  form(message: string, form: FormDescription): JsonObject;
}
