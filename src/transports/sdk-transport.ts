/**
 * The official SDK's `Transport`, as a shape of our own: whatever has these members will do, of any version of the SDK's. Nothing of
 * the SDK is imported.
 */
import type { RequestId } from '../protocol/frames.ts';

/** What is said of a message that is sent. */
export interface SdkSendOptions {
  /** The peer's request that the message belongs to: it goes on that request's stream. */
  readonly relatedRequestId?: RequestId | undefined;
}

/**
 * Methods, so that their parameters compare both ways: a message is an `object` here, and one of the SDK's own message types there.
 */
interface SdkListeners {
  onmessage(message: object, extra?: object): void;
  onerror(error: Error): void;
}

/** One end of a connection, as the official SDK's clients and servers hold it. */
export interface SdkTransport {
  /** Called once, when the listeners are in their place. */
  start(): Promise<void>;
  send(message: object, options?: SdkSendOptions): Promise<void>;
  close(): Promise<void>;
  /** Called when the connection has closed, whoever closed it. */
  onclose?: (() => void) | undefined;
  /** Called with what went wrong; the connection may go on. */
  onerror?: SdkListeners['onerror'] | undefined;
  onmessage?: SdkListeners['onmessage'] | undefined;
  /** The session's id, where the connection has one: such a connection outlives the streams that its messages go on. */
  sessionId?: string | undefined;
  setProtocolVersion?: ((version: string) => void) | undefined;
}
