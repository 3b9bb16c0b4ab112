/** A transport that has nothing but the official SDK's shape, driven by a test. */
import type { SdkTransport } from 'mcp-actors';
import type { SdkSendOptions } from '../../src/transports/sdk-transport.ts';

export interface Sent {
  readonly message: { readonly [field: string]: unknown };
  readonly relatedTo: unknown;
}

export class HandMadeTransport implements SdkTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];
  sessionId?: string;
  /** What was called, in order. */
  readonly calls: string[] = [];
  readonly sent: Sent[] = [];
  /** What becomes of each send. */
  taking: (message: object) => Promise<void> = () => Promise.resolve();
  starting: () => Promise<void> = () => Promise.resolve();
  closing: () => Promise<void> = () => Promise.resolve();
  readonly #listeners: (() => void)[] = [];
  /** Responses before these are the handshake's. */
  #handshake = 0;

  start(): Promise<void> {
    this.calls.push('start');
    return this.starting();
  }

  send(message: object, options?: SdkSendOptions): Promise<void> {
    this.sent.push({ message: message as Sent['message'], relatedTo: options?.relatedRequestId });
    for (const listener of this.#listeners.splice(0)) listener();
    return this.taking(message);
  }

  close(): Promise<void> {
    this.calls.push('close');
    return this.closing();
  }

  setProtocolVersion(version: string): void {
    this.calls.push(`revision ${version} after ${this.sent.length} messages`);
  }

  /** Gives the session messages, one by one. */
  receive(...messages: readonly object[]): void {
    for (const message of messages) this.onmessage?.(message);
  }

  /** The related request of each message that was sent with this method. */
  relatedTo(method: string): readonly unknown[] {
    return this.sent
      .filter(({ message }) => message['method'] === method)
      .map(({ relatedTo }) => relatedTo);
  }

  /** Resolves once the request with this id has been answered. */
  async answered(id: unknown): Promise<void> {
    while (!this.#responses.some((response) => response['id'] === id)) {
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }

  /** What was answered so far is not of interest. */
  forgetResponses(): void {
    this.#handshake = this.#responses.length;
  }

  /** Every response that was sent since, in order. */
  get responses(): readonly Sent['message'][] {
    return this.#responses.slice(this.#handshake);
  }

  get #responses(): readonly Sent['message'][] {
    return this.sent
      .map(({ message }) => message)
      .filter((message) => 'result' in message || 'error' in message || Array.isArray(message));
  }
}
