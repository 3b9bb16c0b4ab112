/**
 * The shape of the official SDK's `Transport`. Any object with these members will do, from any
 * version of the SDK. Nothing is imported from the SDK.
 */
import type { RequestId } from '../protocol/frames.ts';

/** Options of a message that is sent. */
export interface SdkSendOptions {
  /** The peer's request that the message belongs to. The message goes on that request's stream. */
  readonly relatedRequestId?: RequestId | undefined;
}

/**
 * Methods, so that their parameters are compared bivariantly: here a message is an `object`, in the SDK it
 * has a type of its own.
 */
interface SdkListeners {
  onmessage(message: object, extra?: object): void;
  onerror(error: Error): void;
}

/** One end of a connection, as the official SDK's clients and servers use it. */
export interface SdkTransport {
  /** Called once, after the listeners are set. */
  start(): Promise<void>;
  /** Sends one message; resolves when it is on its way. */
  send(message: object, options?: SdkSendOptions): Promise<void>;
  /** Closes the connection. */
  close(): Promise<void>;
  /** Called when the connection has closed, from either side. */
  onclose?: (() => void) | undefined;
  /** Called with an error. The connection may go on. */
  onerror?: SdkListeners['onerror'] | undefined;
  /** Called with each message, in order. */
  onmessage?: SdkListeners['onmessage'] | undefined;
  /** The session's id, if there is one. Such a connection outlives the streams of its messages. */
  sessionId?: string | undefined;
  /** Told the revision that was negotiated, if the transport wants to know. */
  setProtocolVersion?: ((version: string) => void) | undefined;
}
