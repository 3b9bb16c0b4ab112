/** A transport of the official SDK's under a session of ours. */
import { messageReaderActor } from '../actors/reader/message-reader.actor.ts';
import { messageWriterActor } from '../actors/writer/message-writer.actor.ts';
import { isJsonObject } from '../protocol/classify.ts';
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../actors/facts.ts';
import type { OutboundFrame, RequestId } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import type { SdkTransport } from './sdk-transport.ts';
import type { Transport, TransportFactName } from './transport.ts';

/**
 * Serves one session over anything with the shape of the official SDK's `Transport`, its own transports among them: Streamable HTTP, the
 * in-memory pair, one that somebody wrote.
 *
 * What a handler sends while it serves a request goes out with that request's id as `relatedRequestId`. The session starts the
 * transport, and closes it at its end; it ends when the transport closes. Listeners that stand on the transport already are called first,
 * as the SDK does it.
 *
 * A `send` that fails loses its message where the transport has a `sessionId`, because there each message has a stream of its
 * own that may be gone while the session goes on; a request that is lost so fails with `TRANSPORT_CLOSED`. Elsewhere it is the
 * end of the session, as a broken pipe is.
 *
 * @see MCP 2025-11-25, basic/transports, "Custom Transports"
 */
export function fromSdkTransport(transport: SdkTransport): Transport {
  return ({ limits, report }) => {
    const connection = new Connection(transport, report);
    return {
      reader: messageReaderActor(connection, { ...limits, report }),
      writer: messageWriterActor(connection, { ...limits, report }),
    };
  };
}

/** Both ends of a session, over one transport. */
class Connection {
  readonly #transport: SdkTransport;
  readonly #report: Report<TransportFactName>;
  /** The id of the handshake, until its answer tells the revision. */
  #initialize: RequestId | undefined;
  #broken: (error: unknown) => void = () => {};

  constructor(transport: SdkTransport, report: Report<TransportFactName>) {
    this.#transport = transport;
    this.#report = report;
  }

  // The reader's.

  start(events: { message(value: unknown): void; ended(): void }): () => void {
    const transport = this.#transport;
    const { onmessage, onclose, onerror } = transport;
    let finish = () => transport.close();
    const close = (error: unknown) => {
      finish = () => Promise.resolve();
      events.ended();
      // No answer can leave either: what still runs need not be waited for.
      this.#broken(error);
    };
    transport.onmessage = (message, extra) => {
      onmessage?.call(transport, message, extra);
      this.#noteInitialize(message);
      events.message(message);
    };
    transport.onclose = () => {
      onclose?.call(transport);
      close(new Error('The transport has closed'));
    };
    transport.onerror = (error) => {
      onerror?.call(transport, error);
      this.#fault('reported', error);
    };
    promised(() => transport.start()).catch((error: unknown) => {
      this.#fault('did not start', error);
      close(error);
    });
    return () => {
      transport.onmessage = onmessage;
      transport.onclose = onclose;
      transport.onerror = onerror;
      promised(() => finish()).catch((error: unknown) => this.#fault('did not close', error));
    };
  }

  #noteInitialize(message: object): void {
    if (!isJsonObject(message) || message['method'] !== Method.initialize) return;
    this.#initialize = message['id'] as RequestId;
  }

  #fault(what: string, error: unknown): void {
    this.#report({
      level: 'warning',
      name: 'transport.failed',
      message: `The transport ${what}: ${textOfError(error)}`,
      details: { error },
    });
  }

  // The writer's.

  send(frame: OutboundFrame, relatedTo: RequestId | undefined): Promise<void> {
    this.#tellRevision(frame);
    return this.#transport.send(
      frame,
      relatedTo === undefined ? undefined : { relatedRequestId: relatedTo },
    );
  }

  failureOf(): 'lost' | 'broken' {
    return this.#transport.sessionId === undefined ? 'broken' : 'lost';
  }

  listen({ broken }: { broken(error: unknown): void }): () => void {
    this.#broken = broken;
    return () => (this.#broken = () => {});
  }

  /** A transport that must know the revision learns it before its client does. */
  #tellRevision(frame: OutboundFrame): void {
    if (this.#initialize === undefined || !('result' in frame)) return;
    if (frame.id !== this.#initialize) return;
    this.#initialize = undefined;
    const { protocolVersion } = frame.result as { readonly protocolVersion?: unknown };
    if (typeof protocolVersion === 'string') this.#transport.setProtocolVersion?.(protocolVersion);
  }
}

/** What a function throws is its promise's. */
async function promised(act: () => Promise<void>): Promise<void> {
  await act();
}
