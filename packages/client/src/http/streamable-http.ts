/**
 * Streamable HTTP: messages are posted to the server's URL and answered there. One standalone
 * stream may carry messages that answer no request from the host.
 *
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 */
import type { RuntimeError } from '../../../../src/protocol/errors.ts';
import { TransportStream } from './http-transport.ts';
import type { HttpTransport, TransportOwner } from './http-transport.ts';
import type { StreamEnd } from './server-stream.ts';

export class StreamableHttp implements HttpTransport {
  readonly answers = 'on-post';
  readonly target: URL;
  readonly #owner: TransportOwner;
  #push: PushStream | undefined = undefined;

  constructor(owner: TransportOwner, target: URL) {
    this.#owner = owner;
    this.target = target;
  }

  listen(headers: Readonly<Record<string, string>>): void {
    this.#push ??= new PushStream(
      this.#owner,
      { what: "the server's own stream", resumption: 'anew' },
      { url: this.target, headers },
    );
  }

  forget(): void {
    this.#push?.close();
    this.#push = undefined;
  }

  close(): void {
    this.forget();
  }
}

/**
 * Standalone stream of a session.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
class PushStream extends TransportStream {
  opened(): void {
    this.served();
  }

  protected override ended(error: RuntimeError, kind: StreamEnd, was: 'asked' | 'served'): void {
    const { status, message } = error;
    if ((status === 404 || status === 410) && was === 'served') return this.owner.forgotten();
    const { report } = this.owner.options;
    // Some servers without such a stream answer with 404, some with an error or a page.
    if (kind === 'refused' && was === 'asked')
      return report({ level: 'debug', name: 'stream.absent', message });
    report({ level: 'warning', name: 'stream.ended', message });
    if (kind === 'unreachable') this.owner.unreachable(error);
  }
}
