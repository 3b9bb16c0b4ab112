/**
 * A dated revision of the protocol: it projects everything that a server sends to the form of that
 * revision.
 *
 * The input is neutral, in the form of the latest revision; the output is for the wire. A member or
 * a kind of content that the revision does not know is omitted or put in words. If neither is
 * possible, an error says so. Code outside of `src/protocol` never asks for the revision: it calls
 * a projection.
 */
import type { ContentBlock, ResourceContents } from '../content.ts';
import type { DisplayInfo } from '../display-info.ts';
import type { ProtocolError } from '../errors.ts';
import type { FormDescription } from '../form.ts';
import type { JsonObject, RequestId, WireError } from '../frames.ts';
import type { ServerDescription } from '../implementation.ts';
import type { DetailedTask, Task, TaskRequest, TaskSupport } from '../tasks.ts';

/** A tool in a list, with its schemas as JSON Schema. */
export interface ToolItem extends DisplayInfo {
  readonly name: string;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object;
  readonly taskSupport?: TaskSupport;
}

/** An item whose contents have a type, with hints about them. */
export interface TypedItem extends DisplayInfo {
  readonly mimeType?: string;
  readonly annotations?: object;
}

/** A resource in a list. */
export interface ResourceItem extends TypedItem {
  readonly uri: string;
  readonly name: string;
  readonly size?: number;
}

/** A resource template in a list. */
export interface TemplateItem extends TypedItem {
  readonly uriTemplate: string;
  readonly name: string;
}

/** A prompt in a list. */
export interface PromptItem extends DisplayInfo {
  readonly name: string;
  readonly arguments?: { readonly [name: string]: PromptArgumentItem };
}

export interface PromptArgumentItem extends DisplayInfo {
  readonly required?: boolean;
}

/** A tool's checked result. */
export interface ToolResultItem {
  /** If absent, the client gets `structured` as JSON text. */
  readonly content: readonly ContentBlock[] | undefined;
  readonly structured: JsonObject | undefined;
  readonly isError: boolean;
  readonly _meta: JsonObject | undefined;
}

/** The content of a progress notification. */
export interface ProgressReport {
  /** How far it is; each report has more than the one before. */
  readonly progress: number;
  /** What `progress` will be at the end, if that is known. */
  readonly total?: number;
  /** For people. Revisions before 2025-03-26 do not know it. */
  readonly message?: string;
}

/** A conversation for a model to continue: the params of a sampling request, messages included. */
export interface ConversationItem extends JsonObject {
  readonly messages: readonly ConversationMessage[];
}

export interface ConversationMessage {
  readonly role: string;
  readonly content: readonly { readonly type: string }[];
  readonly _meta?: JsonObject | undefined;
}

/** A URL for a person to open, as clients receive it. */
export interface UrlElicitation {
  /** Tells it from a form. */
  readonly mode: 'url';
  /** Names this elicitation when it is completed. */
  readonly elicitationId: string;
  /** What the person is to open. It holds no secret. */
  readonly url: string;
  /** For the person: why it should be opened. */
  readonly message: string;
}

/** Why a tool call has failed. Any `ToolError` and `RuntimeError` is one. */
export interface ToolFailure {
  readonly message: string;
  /** Leads the text that the model reads. */
  readonly code?: string | undefined;
}

/** What a client lacks for one of our requests. */
export interface MissingCapability {
  /** The end of a sentence about the client. */
  readonly why: string;
  /** What it would have to declare; undefined if no capability would help. */
  readonly required?: JsonObject;
}

/**
 * How long, and by whom, a result may be cached.
 *
 * @see MCP 2026-07-28, server/utilities/caching
 */
export interface CacheHints {
  /** How long the client may take it for fresh, milliseconds; 0 = not at all. */
  readonly ttlMs: number;
  /** `public` if it holds nothing of any one user's, so that caches may share it. */
  readonly scope: 'public' | 'private';
}

/** One revision of the protocol: what its clients and servers see of each thing. */
export interface Dialect {
  /** The capability for `completion/complete`, if a server of this revision had to declare it and does not. */
  missingForCompletion(capabilities: JsonObject): string | undefined;
  /** The date that names the revision on the wire. */
  readonly version: string;

  // The connection.

  /** What is wrong with a version that a client says over its connection; undefined if nothing is. */
  validateVersion(said: string): string | undefined;
  /** The result of `initialize`. It declares only what the revision knows. */
  initializeResult(server: ServerDescription): JsonObject;
  /** The session that a request is part of; undefined if the revision has none. */
  sessionOfRequest<T>(session: T): T | undefined;
  /** True for a request that a client of this revision may send. */
  offers(method: string): boolean;
  /**
   * The event that a stream begins with, so that its client can resume it before anything was said;
   * empty if clients of the revision would take it for a message.
   */
  firstEvent(id: string, retryMs: number): string;
  /** Why a batch of this size is refused; undefined if it is accepted. */
  batchRefusal(messages: number, maxMessages: number): WireError | undefined;

  // What a server has.

  /** A tool, as the revision lists it. */
  tool(tool: ToolItem): JsonObject;
  /** A resource, as the revision lists it. */
  resource(resource: ResourceItem): JsonObject;
  /** A resource template, as the revision lists it. */
  template(template: TemplateItem): JsonObject;
  /** A prompt, as the revision lists it. */
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
   * @throws {ProtocolError} -32602 if the revision makes them an error of the request
   */
  invalidArguments(message: string): JsonObject;
  /**
   * The result of a failed tool call that the model may recover from.
   * @throws the failure itself if the revision makes it an error of the request
   */
  toolFailure(failure: ToolFailure): JsonObject;
  /** The error for a resource that does not exist. */
  resourceNotFound(uri: string): ProtocolError;
  /** A complete result as it leaves, whatever the request. */
  result(result: JsonObject, server: ServerDescription): JsonObject;
  /** A result that clients may cache. */
  cacheable(result: JsonObject, hints: CacheHints): JsonObject;
  /** What a thrown value is answered with; undefined if it was not meant for the client. */
  wireError(thrown: unknown): WireError | undefined;
  /** An error of the runtime's own as it leaves. */
  projectError(error: WireError): WireError;
  /** The params of a progress notification. */
  progress(token: RequestId, step: ProgressReport): JsonObject;

  // What a client asks for beside its request.

  /**
   * The task that a tool call becomes; undefined for an ordinary call.
   * @param capabilities the client's
   * @throws {ProtocolError} -32601 if the tool may not be called in this way; -32602 if a member is
   *   wrong
   * @throws {RuntimeError} CAPABILITY_MISSING if the tool runs as a task only, and the client takes
   *   none
   */
  taskRequest(
    tool: { readonly name: string; readonly taskSupport?: TaskSupport },
    params: JsonObject | undefined,
    capabilities: JsonObject,
  ): TaskRequest | undefined;
  /** What a client lacks to ask about tasks; undefined if it lacks nothing. */
  missingForTasks(capabilities: JsonObject): MissingCapability | undefined;
  /** The result of a call that has become a task. */
  createdTask(task: Task): JsonObject;
  /** A task as its client sees it when it asks. */
  task(task: DetailedTask): JsonObject;
  /** What the cancellation of a task is answered with. */
  cancelledTask(task: Task): JsonObject;
  /**
   * The same for a task that had ended before.
   * @throws {ProtocolError} -32602 if the revision makes that an error
   */
  cancelledEndedTask(task: Task): JsonObject;
  /** The arguments already filled in, from a completion request; not checked. */
  completionContext(params: JsonObject | undefined): unknown;

  // What a server asks its client.

  /**
   * What a client with these capabilities lacks for one of our requests; undefined if it lacks
   * nothing. If a server may ask at any time, a method that the revision does not know is never
   * refused: handler and client may have agreed on it.
   */
  missingCapability(
    method: string,
    params: JsonObject | undefined,
    capabilities: JsonObject,
  ): MissingCapability | undefined;
  /**
   * The params of `sampling/createMessage`.
   * @throws {RuntimeError} CAPABILITY_MISSING if the revision does not know some of the content
   */
  sampling(conversation: ConversationItem): JsonObject;
  /**
   * The params of `elicitation/create` with a form.
   * @throws {RuntimeError} CAPABILITY_MISSING if the revision has no forms, or does not know a
   *   field
   */
  form(message: string, form: FormDescription): JsonObject;
  /** The params of `elicitation/create` with a URL. */
  url(elicitation: UrlElicitation): JsonObject;
}

/** A revision without a handshake: each request says which one it is of. */
export interface StatelessDialect extends Dialect {
  /**
   * The result of `server/discover`.
   * @param supportedVersions the versions that a request may name
   */
  discoverResult(
    server: ServerDescription,
    supportedVersions: readonly string[],
    hints: CacheHints,
  ): JsonObject;
}
