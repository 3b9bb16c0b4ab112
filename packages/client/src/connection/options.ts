/** The options with which a host names a server and its connection. */
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

/** A server that is launched as a process. */
export interface CommandEntry {
  /** A program's name or path. No shell reads it. */
  readonly command: string;
  /** None by default. */
  readonly args?: readonly string[];
  /** Added to the variables inherited from the host. */
  readonly env?: { readonly [name: string]: string };
  /** By default the host's working directory. */
  readonly cwd?: string;
}

/** The registered OAuth client with which a person logs in. */
export interface RegisteredClient {
  /** Its id at the authorization server. */
  readonly clientId?: string;
  /** If the client has a secret. */
  readonly clientSecret?: string;
  /**
   * The URL of the client's metadata document, which is its id if the authorization server supports
   * such ids.
   */
  readonly clientMetadataUrl?: string;
  /**
   * The port of the registered `http://127.0.0.1:PORT/callback`, to which the person is sent back.
   */
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
  /** For an issuer without dynamic registration. Used only if a login is allowed (`auth`). */
  readonly oauth?: RegisteredClient;
}

/**
 * A server behind a transport with the official SDK's interface. A transport can be started only
 * once, so a connection that may be reopened needs a function that makes one.
 */
export interface TransportEntry {
  /** An official SDK transport; a function makes one for each attempt to connect. */
  readonly transport: SdkTransport | (() => SdkTransport);
}

/** The server to connect to. */
export type ServerEntry = CommandEntry | UrlEntry | TransportEntry;

/** The options of a connection. Each has a default. */
export interface ConnectionOptions extends Providers {
  /** The host's name for the server, in errors and lists. By default it is taken from the entry. */
  readonly name?: string;
  /** How the host introduces itself to the server. */
  readonly clientInfo?: Implementation;
  /** The only era to try. By default the server is asked which one it speaks. */
  readonly era?: Era;
  /** Further capabilities of the host; merged into those that the providers declare. */
  readonly capabilities?: JsonObject;
  /** The revision to ask for in `initialize`; by default the latest. The server may name another. */
  readonly revision?: string;
  /**
   * Takes the notifications of the server at once and in order, in place of the events. Progress and
   * cancellations are not among them.
   */
  readonly onNotification?: (method: string, params: JsonObject | undefined) => void;
  /**
   * When a server of 2026-07-28 is asked to tell the changes of its lists. `first-list`, the default:
   * before a list is needed. `ready`: as soon as the connection is ready.
   */
  readonly listens?: 'first-list' | 'ready';
  readonly limits?: Partial<ConnectionLimits>;
  /** When a lost connection is reopened. */
  readonly restart?: RestartOption;
  /** How long each step of ending a launched server may take, milliseconds. */
  readonly stop?: { readonly [K in keyof StopTimes]?: number | undefined };
  /**
   * The variables that a launched server inherits from the host, besides those that every process
   * needs: all, or these names, in which `*` stands for any text.
   */
  readonly inheritEnv?: boolean | readonly string[];
  /**
   * Whether a launched server ends if the host is killed. By default it does, on systems that
   * support it.
   */
  readonly endsWithHost?: boolean;
  /** Watch the whole connection, as the inspector's page does. */
  readonly watchers?: readonly ConnectionWatcher[];
  /** Gets the facts that no message carries. By default, warnings and errors go to stderr. */
  readonly report?: Report;
  readonly clock?: Clock;
  /** From 0 to less than 1, for the jitter of the restarts. */
  readonly random?: () => number;
  /** Closes the connection when it is aborted. */
  readonly signal?: AbortSignal;
  /**
   * Records the connection: the result of `recordConnection` or `recordConnectionToFile`, a new one
   * for each connection. A connection that a machine invokes cannot be recorded, because it has no
   * clock of its own.
   */
  readonly record?: ConnectionEnvironment;
}

/** The options of one request. */
export interface HostRequestOptions {
  /**
   * It fails with `REQUEST_TIMEOUT` after this time without an answer or progress, milliseconds.
   */
  readonly timeoutMs?: number;
  /** The longest that it may take, even if progress comes, milliseconds. */
  readonly maxTotalMs?: number;
  /** Cancels it: it fails with `CANCELLED`, and the server is told. */
  readonly signal?: AbortSignal | undefined;
  /** If given, progress is requested and each report is passed to it. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Gets the task if the server runs the tool call as one. */
  readonly onTask?: ((task: ToolTask) => void) | undefined;
  /**
   * What happens while there is no connection. `wait`, the default: the request is sent over the
   * next one, if its time allows. `refuse`: it fails with `NOT_READY`.
   */
  readonly whenAway?: 'wait' | 'refuse' | undefined;
  /**
   * `reads`: if the connection is lost before the answer, the request is sent once more over the
   * next one, provided that the protocol makes this harmless: lists, reads, prompts, completion,
   * and calls of tools annotated as `readOnlyHint` or `idempotentHint`. By default nothing is sent
   * twice.
   */
  readonly retry?: 'never' | 'reads' | undefined;
}
