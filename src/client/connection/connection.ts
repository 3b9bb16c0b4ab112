/** A host's connection to one server, over any number of processes and channels. */
import type { ConnectionDump } from '../../diagnosis/connection-dump.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { LogLevel } from '../../protocol/log-levels.ts';
import type { RootsProvider } from '../asked/providers.ts';
import type { ConnectionState, ServerProfile } from './connection-state.ts';
import type { ConnectionStreams } from './connection-streams.observable.ts';
import type {
  CallToolResult,
  CompletionRequest,
  GetPromptResult,
  ReadResourceResult,
} from '../lists/offered.ts';
import type {
  Completion,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../protocol/listed.ts';
import type { HostRequestOptions } from './options.ts';
import type { ToolTask } from './tool-task.observable.ts';
import type { TaskOptions } from './tool-tasks.ts';

/**
 * A connection. What it asks settles once: with the server's result; with its error, a
 * `ProtocolError` that is untouched; or with a `RuntimeError` whose code says why there is none.
 */
export interface Connection extends ConnectionStreams, AsyncDisposable {
  /** What messages and the page call it; by default the server's command or URL. */
  readonly name: string;
  /** Where the connection stands, and since when. */
  readonly state: ConnectionState;
  /** Undefined until the first handshake; then the server of the last one. */
  readonly server: ServerProfile | undefined;
  /** How often a server was begun with: processes that were launched, endpoints that were tried, and sessions in the place of expired ones. */
  readonly launches: number;
  /** Requests of the host's that are not settled. */
  readonly pending: number;
  /** The last of what the process has written to its standard error, and how much there was. */
  readonly stderr: { readonly text: string; readonly bytes: number };

  /**
   * Resolves once the connection is ready; at once if it is.
   *
   * @throws {RuntimeError} it has failed, or is closed; CANCELLED
   */
  ready(options?: { readonly signal?: AbortSignal }): Promise<ServerProfile>;
  /**
   * Sends a request, and gives its result.
   *
   * @throws {ProtocolError} the server's own error
   * @throws {RuntimeError} REQUEST_TIMEOUT, CANCELLED, CLOSED, NOT_READY, LIMIT_EXCEEDED,
   *   UNSERIALIZABLE, INVALID_RESPONSE
   */
  request(method: string, params?: JsonObject, options?: HostRequestOptions): Promise<JsonObject>;
  /**
   * Sends a notification. Resolves when the transport has taken it.
   *
   * @throws {RuntimeError} NOT_READY, CANCELLED, REQUEST_TIMEOUT, UNSERIALIZABLE
   */
  notify(
    method: string,
    params?: JsonObject,
    options?: Pick<HostRequestOptions, 'timeoutMs' | 'signal'>,
  ): Promise<void>;

  /** Calls a tool; if that runs as a task, its end is waited for. @throws as {@link request} does */
  callTool(name: string, args?: JsonObject, options?: HostRequestOptions): Promise<CallToolResult>;
  /**
   * Calls a tool as a task, and gives it as soon as the server has made one. A server of 2026-07-28
   * decides itself, and may answer at once. The `signal` cancels the call until then.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server runs no calls as tasks; as {@link request}
   */
  callToolAsTask(name: string, args?: JsonObject, options?: TaskOptions): Promise<ToolTask>;
  /** All tools. Without `refresh` what is known is given, if nothing has changed since. */
  listTools(options?: ListOptions): Promise<readonly ListedTool[]>;
  /** All resources, as {@link listTools} gives tools. */
  listResources(options?: ListOptions): Promise<readonly ListedResource[]>;
  /** All resource templates, as {@link listTools} gives tools. */
  listResourceTemplates(options?: ListOptions): Promise<readonly ListedResourceTemplate[]>;
  /** All prompts, as {@link listTools} gives tools. */
  listPrompts(options?: ListOptions): Promise<readonly ListedPrompt[]>;
  /**
   * Reads a resource.
   *
   * @throws as {@link request} does
   */
  readResource(uri: string, options?: HostRequestOptions): Promise<ReadResourceResult>;
  /**
   * Gets a prompt's messages for these arguments.
   *
   * @throws as {@link request} does
   */
  getPrompt(
    name: string,
    args?: { readonly [name: string]: string },
    options?: HostRequestOptions,
  ): Promise<GetPromptResult>;
  /**
   * Asks which values an argument may have.
   *
   * @throws as {@link request} does
   */
  complete(request: CompletionRequest, options?: HostRequestOptions): Promise<Completion>;
  /** Wants to hear of changes of a resource, on every later connection too, until `unsubscribe`. */
  subscribe(uri: string, options?: HostRequestOptions): Promise<void>;
  /**
   * Wants to hear no more of a resource.
   *
   * @throws as {@link request} does
   */
  unsubscribe(uri: string, options?: HostRequestOptions): Promise<void>;
  /** The least severe log messages that the host wants, on every later connection too. */
  setLogLevel(level: LogLevel, options?: HostRequestOptions): Promise<void>;
  /**
   * Replaces the roots at once, and tells the server. What cancels that leaves the new roots.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the connection was made without roots; as
   *   {@link notify} does
   */
  setRoots(
    roots: RootsProvider,
    options?: Pick<HostRequestOptions, 'timeoutMs' | 'signal'>,
  ): Promise<void>;
  /** Whether the server answers; gives the time that it took, milliseconds. */
  ping(options?: HostRequestOptions): Promise<number>;

  /**
   * Tells where it stands and since when, what is pending, what is known of the server, and the states
   * of its actors. Contains no headers, tokens or environment.
   */
  dump(): ConnectionDump;

  /**
   * Makes the connection anew: what is pending fails with `CLOSED`, attempts count from 0. The
   * `signal` ends the waiting alone.
   *
   * @throws as {@link ready} does
   */
  reconnect(options?: Pick<HostRequestOptions, 'signal'>): Promise<ServerProfile>;
  /** Ends it for good. Resolves when nothing of it is left; what is pending fails with `CLOSED`. */
  close(): Promise<void>;
}

/** The options of a list. */
export interface ListOptions extends HostRequestOptions {
  /** Asks the server, whatever is known. */
  readonly refresh?: boolean;
}
