/** A custom transport: messages between two threads. */
import type { MessagePort } from 'node:worker_threads';
import type { SdkTransport } from 'mcp-actors';

export class MessagePortTransport implements SdkTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  async start(): Promise<void> {
    this.#port.on('message', (message: object) => this.onmessage?.(message));
    this.#port.on('messageerror', (error) => this.onerror?.(error));
    this.#port.on('close', () => this.onclose?.());
  }

  async send(message: object): Promise<void> {
    this.#port.postMessage(message);
  }

  async close(): Promise<void> {
    this.#port.close();
  }
}
