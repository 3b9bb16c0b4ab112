/** A host's connection to one server, over any number of processes and channels. */
import type { ConnectionDump } from '../../../diagnostics/src/connection-dump.ts';
import type { ServerProfile } from './connection-context.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type {
  Completion,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../../../src/protocol/list-items.ts';
import type { LogLevel } from '../../../../src/protocol/log-levels.ts';
import type { RootsProvider } from '../asked/providers.ts';
import type {
  CallToolResult,
  CompletionRequest,
  GetPromptResult,
  ReadResourceResult,
} from '../lists/list-results.ts';
import type { ServerSkills } from '../lists/skills.ts';
import type { ConnectionState, ConnectionStreams } from './connection-streams.observable.ts';
import type { HostRequestOptions } from './options.ts';
import type { ToolTask } from './tool-task.observable.ts';
import type { TaskOptions } from './tool-tasks.ts';

/**
 * A connection. Each request settles once: with the server's result, with the server's error as an
 * unchanged `ProtocolError`, or with a `RuntimeError` whose code says why there is no answer.
 */
export interface Connection extends ConnectionStreams, AsyncDisposable {
  /** Its name in messages and on the page; by default the server's command or URL. */
  readonly name: string;
  /** The state of the connection, and since when. */
  readonly state: ConnectionState;
  /** Undefined until the first handshake; then the server of the last handshake. */
  readonly server: ServerProfile | undefined;
  /**
   * How many processes were launched, endpoints tried, and sessions opened in place of expired
   * ones.
   */
  readonly launches: number;
  /** The number of the host's requests that are not settled. */
  readonly pending: number;
  /** The end of the process's stderr, and how much it has written. */
  readonly stderr: { readonly text: string; readonly bytes: number };

  /**
   * Resolves once the connection is ready; at once if it is.
   *
   * @throws {RuntimeError} the connection has failed or is closed; CANCELLED
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

  /**
   * Calls a tool; if the call runs as a task, waits for its end. @throws as {@link request} does
   */
  callTool(name: string, args?: JsonObject, options?: HostRequestOptions): Promise<CallToolResult>;
  /**
   * Calls a tool as a task, and resolves to it as soon as the server has made it. A server of
   * 2026-07-28 decides by itself, and may answer at once. Until then the `signal` cancels the call.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server does not run calls as tasks; as {@link
   *   request}
   */
  callToolAsTask(name: string, args?: JsonObject, options?: TaskOptions): Promise<ToolTask>;
  /** All tools. Without `refresh`, a known list that has not changed is returned without asking. */
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
  /** The skills of the server: listed, read, and checked against what it said of them. */
  readonly skills: ServerSkills;
  /**
   * Subscribes to changes of a resource until `unsubscribe`, also after the connection was
   * reopened.
   */
  subscribe(uri: string, options?: HostRequestOptions): Promise<void>;
  /**
   * Ends the subscription to a resource.
   *
   * @throws as {@link request} does
   */
  unsubscribe(uri: string, options?: HostRequestOptions): Promise<void>;
  /**
   * Sets the level of the least severe log messages that the host wants, also after the connection
   * was reopened.
   */
  setLogLevel(level: LogLevel, options?: HostRequestOptions): Promise<void>;
  /**
   * Replaces the roots at once, and tells the server. If telling is cancelled, the new roots stay.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the connection was made without roots; as {@link
   *   notify} does
   */
  setRoots(
    roots: RootsProvider,
    options?: Pick<HostRequestOptions, 'timeoutMs' | 'signal'>,
  ): Promise<void>;
  /** Pings the server. Resolves to the time that the answer took, milliseconds. */
  ping(options?: HostRequestOptions): Promise<number>;

  /**
   * Its state and since when, what is pending, what is known of the server, and the states of its
   * actors. Contains no headers, tokens or environment.
   */
  dump(): ConnectionDump;

  /**
   * Reopens the connection: pending requests fail with `CLOSED`, attempts count from 0. The
   * `signal` ends only the waiting.
   *
   * @throws as {@link ready} does
   */
  reconnect(options?: Pick<HostRequestOptions, 'signal'>): Promise<ServerProfile>;
  /**
   * Closes it for good. Resolves when nothing of it is left; pending requests fail with `CLOSED`.
   */
  close(): Promise<void>;
}

/** The options of a list. */
export interface ListOptions extends HostRequestOptions {
  /** Asks the server even if the list is known. */
  readonly refresh?: boolean;
}
