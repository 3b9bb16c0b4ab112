/** Interface of a connection to one server, across any number of processes and channels. */
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
 * A connection to one server. Each request settles once: with the server's result, with the
 * server's error as an unchanged `ProtocolError`, or with a `RuntimeError` whose code says why
 * there is no answer.
 */
export interface Connection extends ConnectionStreams, AsyncDisposable {
  /** Name in messages and on the inspector page. Default: the server's command or URL. */
  readonly name: string;
  /** State of the connection, and the time of entering it. */
  readonly state: ConnectionState;
  /** Server of the last handshake; undefined before the first. */
  readonly server: ServerProfile | undefined;
  /** Number of processes launched, endpoints tried and expired sessions replaced. */
  readonly launches: number;
  /** Number of the host's unsettled requests. */
  readonly pending: number;
  /** The tail of the process's stderr, and the total written. */
  readonly stderr: { readonly text: string; readonly bytes: number };

  /**
   * Resolves once the connection is ready; immediately if it already is.
   *
   * @throws {RuntimeError} the connection failed or is closed; CANCELLED
   */
  ready(options?: { readonly signal?: AbortSignal }): Promise<ServerProfile>;
  /**
   * Sends a request and resolves with its result.
   *
   * @throws {ProtocolError} the server's own error
   * @throws {RuntimeError} REQUEST_TIMEOUT, CANCELLED, CLOSED, NOT_READY, LIMIT_EXCEEDED,
   *   UNSERIALIZABLE, INVALID_RESPONSE
   */
  request(method: string, params?: JsonObject, options?: HostRequestOptions): Promise<JsonObject>;
  /**
   * Sends a notification. Resolves when the transport has accepted it.
   *
   * @throws {RuntimeError} NOT_READY, CANCELLED, REQUEST_TIMEOUT, UNSERIALIZABLE
   */
  notify(
    method: string,
    params?: JsonObject,
    options?: Pick<HostRequestOptions, 'timeoutMs' | 'signal'>,
  ): Promise<void>;

  /**
   * Calls a tool. A call that runs as a task is awaited to its end.
   *
   * @throws as {@link request} does
   */
  callTool(name: string, args?: JsonObject, options?: HostRequestOptions): Promise<CallToolResult>;
  /**
   * Calls a tool as a task, and resolves once the server has created the task. A server of
   * 2026-07-28 decides by itself whether to create one, and may answer at once. The `signal`
   * cancels the call until then.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server does not run calls as tasks; as {@link
   *   request}
   */
  callToolAsTask(name: string, args?: JsonObject, options?: TaskOptions): Promise<ToolTask>;
  /** All tools. Returns a valid cached list unless `refresh` is set. */
  listTools(options?: ListOptions): Promise<readonly ListedTool[]>;
  /** All resources, cached as for {@link listTools}. */
  listResources(options?: ListOptions): Promise<readonly ListedResource[]>;
  /** All resource templates, cached as for {@link listTools}. */
  listResourceTemplates(options?: ListOptions): Promise<readonly ListedResourceTemplate[]>;
  /** All prompts, cached as for {@link listTools}. */
  listPrompts(options?: ListOptions): Promise<readonly ListedPrompt[]>;
  /** @throws as {@link request} does */
  readResource(uri: string, options?: HostRequestOptions): Promise<ReadResourceResult>;
  /**
   * Gets the messages of a prompt.
   *
   * @throws as {@link request} does
   */
  getPrompt(
    name: string,
    args?: { readonly [name: string]: string },
    options?: HostRequestOptions,
  ): Promise<GetPromptResult>;
  /**
   * Requests completions of an argument.
   *
   * @throws as {@link request} does
   */
  complete(request: CompletionRequest, options?: HostRequestOptions): Promise<Completion>;
  /** Skills of the server: listed, read, and verified against the server's metadata. */
  readonly skills: ServerSkills;
  /** Subscribes to changes of a resource until `unsubscribe`, across reconnects. */
  subscribe(uri: string, options?: HostRequestOptions): Promise<void>;
  /**
   * Ends a subscription.
   *
   * @throws as {@link request} does
   */
  unsubscribe(uri: string, options?: HostRequestOptions): Promise<void>;
  /** Sets the minimum level of log messages from the server, across reconnects. */
  setLogLevel(level: LogLevel, options?: HostRequestOptions): Promise<void>;
  /**
   * Replaces the roots at once, and notifies the server. The new roots stay even if the
   * notification is cancelled.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the connection declared no roots; as {@link notify}
   *   does
   */
  setRoots(
    roots: RootsProvider,
    options?: Pick<HostRequestOptions, 'timeoutMs' | 'signal'>,
  ): Promise<void>;
  /** Pings the server. Resolves to the round-trip time, ms. */
  ping(options?: HostRequestOptions): Promise<number>;

  /**
   * State of the connection: pending requests, the server, and all actors. Contains no headers,
   * tokens or environment.
   */
  dump(): ConnectionDump;

  /**
   * Reopens the connection: pending requests fail with `CLOSED`, and attempts count from 0. The
   * `signal` only stops waiting.
   *
   * @throws as {@link ready} does
   */
  reconnect(options?: Pick<HostRequestOptions, 'signal'>): Promise<ServerProfile>;
  /**
   * Closes the connection for good. Resolves after cleanup; pending requests fail with `CLOSED`.
   */
  close(): Promise<void>;
}

/** Options of list requests. */
export interface ListOptions extends HostRequestOptions {
  /** Fetches the list even if it is cached. */
  readonly refresh?: boolean;
}
