/** Options that describe a server and the connection to it. */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { Era } from './connection-context.ts';
import type { ProgressReport } from '../../../../src/protocol/dialects/dialect.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Implementation } from '../../../../src/protocol/implementation.ts';
import type { StopTimes } from '../../../processes/src/process.machine.ts';
import type { RestartOption } from '../channel/restart-option.ts';
import type { SdkTransport } from '../../../../src/transports/sdk-transport.ts';
import type { Providers } from '../asked/providers.ts';
import type { ConnectionEnvironment } from './connection-environment.ts';
import type { ConnectionLimits } from './limits.ts';
import type { ToolTask } from './tool-task.observable.ts';
import type { ConnectionWatcher } from './watched-connection.ts';

/** A server launched as a process. */
export interface CommandEntry {
  /** Program name or path. Run without a shell. */
  readonly command: string;
  /** Default: none. */
  readonly args?: readonly string[];
  /** Added to the variables inherited from the host. */
  readonly env?: { readonly [name: string]: string };
  /** Default: the host's working directory. */
  readonly cwd?: string;
}

/** A registered OAuth client for a person's login. */
export interface RegisteredClient {
  /** Client id at the authorization server. */
  readonly clientId?: string;
  /** Client secret, if any. */
  readonly clientSecret?: string;
  /**
   * URL of the client's metadata document, used as client id if the authorization server supports
   * such ids.
   */
  readonly clientMetadataUrl?: string;
  /** Port of the registered redirect URL `http://127.0.0.1:PORT/callback`. */
  readonly callbackPort?: number;
}

/** A server reached over HTTP. */
export interface UrlEntry {
  /** `sse`: the transport of 2024-11-05. Default: Streamable HTTP. */
  readonly type?: 'http' | 'streamable-http' | 'sse';
  /** Endpoint URL, `http:` or `https:`. */
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: { readonly [name: string]: string };
  /**
   * Client for an issuer without dynamic registration. Used only if a login is allowed (`auth`).
   */
  readonly oauth?: RegisteredClient;
}

/**
 * A server behind a transport with the official SDK's interface. A transport starts only once, so a
 * connection that may be reopened needs a factory function.
 */
export interface TransportEntry {
  /** An official SDK transport, or a function that creates one per attempt. */
  readonly transport: SdkTransport | (() => SdkTransport);
}

/** The server to connect to. */
export type ServerEntry = CommandEntry | UrlEntry | TransportEntry;

/** Options of a connection. Each has a default. */
export interface ConnectionOptions extends Providers {
  /** Name of the server in errors and lists. Default: taken from the entry. */
  readonly name?: string;
  /** Self-description of the host, sent to the server. */
  readonly clientInfo?: Implementation;
  /** The only era to try. Default: detected. */
  readonly era?: Era;
  /** Additional capabilities of the host, merged into those declared by the providers. */
  readonly capabilities?: JsonObject;
  /** Revision requested in `initialize`. Default: the latest. The server may choose another. */
  readonly revision?: string;
  /**
   * Receives the server's notifications synchronously and in order, instead of the events. Progress
   * and cancellations are excluded.
   */
  readonly onNotification?: (method: string, params: JsonObject | undefined) => void;
  /**
   * Time at which a server of 2026-07-28 is asked for list change notifications. `first-list`
   * (default): before a list is first needed. `ready`: as soon as the connection is ready.
   */
  readonly listens?: 'first-list' | 'ready';
  readonly limits?: Partial<ConnectionLimits>;
  /** Restart policy after a disconnect. */
  readonly restart?: RestartOption;
  /** Timeouts of the steps that stop a launched server, ms. */
  readonly stop?: { readonly [K in keyof StopTimes]?: number | undefined };
  /**
   * Variables that a launched server inherits from the host besides the essential ones: all, or
   * those matching these names, where `*` matches any text.
   */
  readonly inheritEnv?: boolean | readonly string[];
  /**
   * True if a launched server ends when the host is killed. Default: true on systems that support
   * it.
   */
  readonly endsWithHost?: boolean;
  /** Watchers of the whole connection, such as the inspector page. */
  readonly watchers?: readonly ConnectionWatcher[];
  /** Receives log facts. Default: warnings and errors go to stderr. */
  readonly report?: Report;
  readonly clock?: Clock;
  /** Random source of the restart jitter, from 0 to less than 1. */
  readonly random?: () => number;
  /** Closes the connection when aborted. */
  readonly signal?: AbortSignal;
  /**
   * Records the connection: the result of `recordConnection` or `recordConnectionToFile`, a new one
   * per connection. A connection invoked by a machine cannot be recorded, because it has no clock
   * of its own.
   */
  readonly record?: ConnectionEnvironment;
}

/** Options of one request. */
export interface HostRequestOptions {
  /** Time without a response or progress before the request fails with `REQUEST_TIMEOUT`, ms. */
  readonly timeoutMs?: number;
  /** Maximum total time, regardless of progress, ms. */
  readonly maxTotalMs?: number;
  /** Cancels the request: it fails with `CANCELLED`, and the server is notified. */
  readonly signal?: AbortSignal | undefined;
  /** Requests progress, and receives each report. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Receives the task if the server runs the tool call as one. */
  readonly onTask?: ((task: ToolTask) => void) | undefined;
  /**
   * Behaviour without a connection. `wait` (default): queue for the next connection, time
   * permitting. `refuse`: fail with `NOT_READY`.
   */
  readonly whenAway?: 'wait' | 'refuse' | undefined;
  /**
   * `reads`: if the connection is lost before the response, resend the request once over the next
   * one, provided that the protocol makes this harmless: lists, reads, prompts, completion, and
   * calls of tools annotated with `readOnlyHint` or `idempotentHint`. Default: nothing is sent
   * twice.
   */
  readonly retry?: 'never' | 'reads' | undefined;
}
