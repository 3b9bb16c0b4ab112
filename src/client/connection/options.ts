/** How a host says which server it wants, and how it wants to be connected. */
import type { Clock } from '../../actors/clock.ts';
import type { Report } from '../../actors/facts.ts';
import type { Era } from '../../machines/connection-context.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { Implementation } from '../../protocol/implementation.ts';
import type { StopTimes } from '../../machines/process.machine.ts';
import type { RestartOption } from '../../machines/restart-policy.ts';
import type { SdkTransport } from '../../transports/sdk-transport.ts';
import type { Providers } from '../asked/providers.ts';
import type { ConnectionEnvironment } from './connection-environment.ts';
import type { ConnectionLimits } from './limits.ts';
import type { ToolTask } from './tool-task.observable.ts';
import type { ConnectionWatcher } from './watched-connection.ts';

/** A server that is launched as a process. */
export interface CommandEntry {
  /** A program's name or path. No shell reads it. */
  readonly command: string;
  /** By default none. */
  readonly args?: readonly string[];
  /** Added to what is inherited of the host's environment. */
  readonly env?: { readonly [name: string]: string };
  /** By default the host's working directory. */
  readonly cwd?: string;
}

/** A client that is registered at a server's authorization server, as a person logs in with it. */
export interface RegisteredClient {
  /** As the authorization server knows it. */
  readonly clientId?: string;
  /** For a client that has one. */
  readonly clientSecret?: string;
  /** The URL of a metadata document of the client's: its id, if the server knows such ids. */
  readonly clientMetadataUrl?: string;
  /** The person is sent back to `http://127.0.0.1:PORT/callback`, as it is registered. */
  readonly callbackPort?: number;
}

/** A server that is reached over HTTP. */
export interface UrlEntry {
  /** `sse`: the transport of 2024-11-05. By default Streamable HTTP. */
  readonly type?: 'http' | 'streamable-http' | 'sse';
  /** The endpoint, with `http:` or `https:`. */
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: { readonly [name: string]: string };
  /** For an issuer that registers nobody by itself. It counts if a login is allowed (`auth`). */
  readonly oauth?: RegisteredClient;
}

/**
 * A server behind a transport of the official SDK's shape. A transport lives once, so a connection
 * that may be made again needs a function that makes one.
 */
export interface TransportEntry {
  /** An official SDK transport; a function makes one for each attempt to connect. */
  readonly transport: SdkTransport | (() => SdkTransport);
}

/** Which server a connection is to. */
export type ServerEntry = CommandEntry | UrlEntry | TransportEntry;

/** The options of a connection. What is absent has a default. */
export interface ConnectOptions extends Providers {
  /** What the host calls the server, in errors and lists. By default from the entry. */
  readonly name?: string;
  /** Who the host is, for the server. */
  readonly clientInfo?: Implementation;
  /** Nothing else is tried. By default the server is asked which it speaks. */
  readonly era?: Era;
  /** More that the host is capable of; merged into what the providers declare. */
  readonly capabilities?: JsonObject;
  readonly limits?: Partial<ConnectionLimits>;
  /** When a lost connection is made again. */
  readonly restart?: RestartOption;
  /** How long each means of ending a launched server has, milliseconds. */
  readonly stop?: { readonly [K in keyof StopTimes]?: number | undefined };
  /**
   * What a launched server inherits of the host's environment, beside what every process needs: all,
   * or these names, in which `*` stands for any text.
   */
  readonly inheritEnv?: boolean | readonly string[];
  /** Whether a launched server ends if the host is killed. By default it does, where that is known. */
  readonly endsWithHost?: boolean;
  /** Watch the whole connection, as the inspector's page does. */
  readonly watchers?: readonly ConnectionWatcher[];
  /** Hears what no message tells. By default, warnings and errors go to stderr. */
  readonly report?: Report;
  readonly clock?: Clock;
  /** From 0 to less than 1, for the jitter of the restarts. */
  readonly random?: () => number;
  /** Closes the connection when it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * Records the connection: what `recordConnection` or `recordConnectionToFile` gives, one for each
   * connection. A connection that a machine invokes cannot be recorded: it has no clock of its own.
   */
  readonly record?: ConnectionEnvironment;
}

/** The options of one request. */
export interface HostRequestOptions {
  /** Without an answer or progress for so long it fails with `REQUEST_TIMEOUT`, milliseconds. */
  readonly timeoutMs?: number;
  /** The longest that it may take, whatever progress comes, milliseconds. */
  readonly maxTotalMs?: number;
  /** Cancels it: it fails with `CANCELLED`, and the server is told. */
  readonly signal?: AbortSignal | undefined;
  /** Asks for progress, and is called with each report. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Hears of the task that a tool's call has become, if the server runs it as one. */
  readonly onTask?: ((task: ToolTask) => void) | undefined;
  /**
   * What becomes of it while there is no connection. `wait`, the default: it is sent with the next
   * one, if its own time allows. `refuse`: it fails with `NOT_READY`.
   */
  readonly whenAway?: 'wait' | 'refuse' | undefined;
  /**
   * `reads`: if the connection is lost before the answer, it is sent once more with the next one, if
   * the protocol makes that harmless: lists, reads, prompts, completion, and calls of tools that are
   * annotated as `readOnlyHint` or `idempotentHint`. By default nothing is ever sent twice.
   */
  readonly retry?: 'never' | 'reads' | undefined;
}
