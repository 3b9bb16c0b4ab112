/**
 * The interface of the official SDK's `Transport`, as a structural type: any version of the SDK
 * fits, and nothing is imported from it.
 */
import type { RequestId } from '../protocol/frames.ts';

/** Options of `send`. */
export interface SdkSendOptions {
  /**
   * Id of the peer's request that the message relates to. The message travels on that request's
   * stream.
   */
  readonly relatedRequestId?: RequestId | undefined;
}

/**
 * Declared as methods, which makes their parameters bivariant: a message is an `object` here, and
 * has a specific type in the SDK.
 */
interface SdkListeners {
  onmessage(message: object, extra?: object): void;
  onerror(error: Error): void;
}

/** One end of a connection, for the official SDK's clients and servers. */
export interface SdkTransport {
  /** Starts the transport. Called once, after the listeners are set. */
  start(): Promise<void>;
  /** Sends one message. Resolves once it is on its way. */
  send(message: object, options?: SdkSendOptions): Promise<void>;
  /** Closes the connection. */
  close(): Promise<void>;
  /** Called when either side has closed the connection. */
  onclose?: (() => void) | undefined;
  /** Called with an error. The connection may continue. */
  onerror?: SdkListeners['onerror'] | undefined;
  /** Called with each message, in order. */
  onmessage?: SdkListeners['onmessage'] | undefined;
  /** Session id, if any. Such a connection outlives the streams of its messages. */
  sessionId?: string | undefined;
  /** Receives the negotiated revision. */
  setProtocolVersion?: ((version: string) => void) | undefined;
}
