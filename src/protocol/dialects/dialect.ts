/**
 * A dated revision of the protocol: projects everything that a server sends to the form of that
 * revision.
 *
 * The input is neutral, in the form of the latest revision; the output is for the wire. Unsupported
 * members and kinds of content are omitted or converted to text; if neither is possible, an error
 * says so. Code outside of `src/protocol` never checks the revision: it calls a projection.
 */
import type { ContentBlock, ResourceContents } from '../content.ts';
import type { DisplayInfo } from '../display-info.ts';
import type { ProtocolError } from '../errors.ts';
import type { FormDescription } from '../form.ts';
import type { JsonObject, RequestId, WireError } from '../frames.ts';
import type { ServerDescription } from '../implementation.ts';
import type { DetailedTask, Task, TaskRequest, TaskSupport } from '../tasks.ts';

/** A tool in a list, with JSON Schemas. */
export interface ToolItem extends DisplayInfo {
  readonly name: string;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object;
  readonly taskSupport?: TaskSupport;
}

/** An item with a media type and annotations. */
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

/** A tool's validated result. */
export interface ToolResultItem {
  /** Default: `structured` as JSON text. */
  readonly content: readonly ContentBlock[] | undefined;
  readonly structured: JsonObject | undefined;
  readonly isError: boolean;
  readonly _meta: JsonObject | undefined;
}

/** A progress notification's content. */
export interface ProgressReport {
  /** Current progress; must increase with each report. */
  readonly progress: number;
  /** Final value of `progress`, if known. */
  readonly total?: number;
  /** Text for people. Omitted before 2025-03-26. */
  readonly message?: string;
}

/** A conversation for a model to continue: the params of a sampling request. */
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
  /** Discriminator: `url`, as opposed to `form`. */
  readonly mode: 'url';
  /** Id of the elicitation, repeated in the completion notification. */
  readonly elicitationId: string;
  /** The URL to open. Must not contain secrets. */
  readonly url: string;
  /** Explanation for the person. */
  readonly message: string;
}

/** The failure of a tool call. `ToolError` and `RuntimeError` have this form. */
export interface ToolFailure {
  readonly message: string;
  /** Prefix of the text for the model. */
  readonly code?: string | undefined;
}

/** A capability that the client lacks for a request. */
export interface MissingCapability {
  /** Predicate of a sentence about the client. */
  readonly why: string;
  /** The capability to declare; undefined if none would help. */
  readonly required?: JsonObject;
}

/**
 * Caching rules of a result.
 *
 * @see MCP 2026-07-28, server/utilities/caching
 */
export interface CacheHints {
  /** Freshness lifetime, milliseconds; 0: do not cache. */
  readonly ttlMs: number;
  /** `public` if the result is the same for all users, so shared caches may store it. */
  readonly scope: 'public' | 'private';
}

/** One revision of the protocol. */
export interface Dialect {
  /** The undeclared capability that `completion/complete` requires in this revision, if any. */
  missingForCompletion(capabilities: JsonObject): string | undefined;
  /** The date that identifies the revision on the wire. */
  readonly version: string;

  // Connection.

  /** Validates the version header of a request. Returns the problem, or undefined if valid. */
  validateVersion(version: string): string | undefined;
  /** The result of `initialize`, declaring only what the revision supports. */
  initializeResult(server: ServerDescription): JsonObject;
  /** The session of a request; undefined if the revision has no sessions. */
  sessionOfRequest<T>(session: T): T | undefined;
  /** True for a method that clients of this revision may call. */
  offers(method: string): boolean;
  /**
   * The first SSE event of a stream, which lets the client resume from the start; empty if clients
   * of the revision would mistake it for a message.
   */
  firstEvent(id: string, retryMs: number): string;
  /** The error for a batch of this size; undefined if allowed. */
  batchRefusal(messages: number, maxMessages: number): WireError | undefined;

  // Lists.

  /** A tool for `tools/list`. */
  tool(tool: ToolItem): JsonObject;
  /** A resource for `resources/list`. */
  resource(resource: ResourceItem): JsonObject;
  /** A template for `resources/templates/list`. */
  template(template: TemplateItem): JsonObject;
  /** A prompt for `prompts/list`. */
  prompt(prompt: PromptItem): JsonObject;

  // Results.

  /** Content blocks supported by this revision, one for each input block. */
  content(blocks: readonly ContentBlock[]): readonly ContentBlock[];
  /** Resource contents, embedded or read. */
  contents(contents: ResourceContents): ResourceContents;
  /** The result of `tools/call`. */
  toolResult(result: ToolResultItem): JsonObject;
  /**
   * The result of a tool call with invalid arguments.
   * @throws {ProtocolError} -32602 if the revision reports them as a request error
   */
  invalidArguments(message: string): JsonObject;
  /**
   * The result of a failed tool call that the model may recover from.
   * @throws the failure itself if the revision reports it as a request error
   */
  toolFailure(failure: ToolFailure): JsonObject;
  /** The error for an unknown resource. */
  resourceNotFound(uri: string): ProtocolError;
  /** Finishes a complete result of any method. */
  result(result: JsonObject, server: ServerDescription): JsonObject;
  /** Adds caching hints to a result. */
  cacheable(result: JsonObject, hints: CacheHints): JsonObject;
  /** The wire error for a thrown value; undefined for unexpected errors. */
  wireError(thrown: unknown): WireError | undefined;
  /** Projects an error of the runtime. */
  projectError(error: WireError): WireError;
  /** The params of a progress notification. */
  progress(token: RequestId, step: ProgressReport): JsonObject;

  // Tasks and completion.

  /**
   * The task request of a tool call; undefined for an ordinary call.
   * @param capabilities the client's capabilities
   * @throws {ProtocolError} -32601 if the tool does not support this kind of call; -32602 if a
   *   member is invalid
   * @throws {RuntimeError} CAPABILITY_MISSING if the tool requires tasks, which the client does not
   *   support
   */
  taskRequest(
    tool: { readonly name: string; readonly taskSupport?: TaskSupport },
    params: JsonObject | undefined,
    capabilities: JsonObject,
  ): TaskRequest | undefined;
  /** The capability that a client lacks for task methods; undefined if none. */
  missingForTasks(capabilities: JsonObject): MissingCapability | undefined;
  /** The result of a call that became a task. */
  createdTask(task: Task): JsonObject;
  /** The result of `tasks/get`. */
  task(task: DetailedTask): JsonObject;
  /** The result of `tasks/cancel`. */
  cancelledTask(task: Task): JsonObject;
  /**
   * The result of `tasks/cancel` for a task that has already ended.
   * @throws {ProtocolError} -32602 if the revision treats that as an error
   */
  cancelledEndedTask(task: Task): JsonObject;
  /** The arguments already filled in, from a completion request. Not validated. */
  completionContext(params: JsonObject | undefined): unknown;

  // Requests to the client.

  /**
   * The capability that a client lacks for one of our requests; undefined if none. Revisions with
   * server requests allow unknown methods, because handler and client may have agreed on them.
   */
  missingCapability(
    method: string,
    params: JsonObject | undefined,
    capabilities: JsonObject,
  ): MissingCapability | undefined;
  /**
   * The params of `sampling/createMessage`.
   * @throws {RuntimeError} CAPABILITY_MISSING if the revision does not support some of the content
   */
  sampling(conversation: ConversationItem): JsonObject;
  /**
   * The params of `elicitation/create` with a form.
   * @throws {RuntimeError} CAPABILITY_MISSING if the revision does not support forms or a field
   */
  form(message: string, form: FormDescription): JsonObject;
  /** The params of `elicitation/create` with a URL. */
  url(elicitation: UrlElicitation): JsonObject;
}

/** A revision without a handshake: each request names its version. */
export interface StatelessDialect extends Dialect {
  /**
   * The result of `server/discover`.
   * @param supportedVersions versions that requests may name
   */
  discoverResult(
    server: ServerDescription,
    supportedVersions: readonly string[],
    hints: CacheHints,
  ): JsonObject;
}
