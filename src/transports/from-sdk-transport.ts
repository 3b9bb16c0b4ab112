/** Adapter: serves a session over a transport of the official SDK. */
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
 * Serves one session over any object with the interface of the official SDK's `Transport`: the
 * SDK's Streamable HTTP, its in-memory pair, or a transport of your own.
 *
 * Messages that a handler sends while serving a request carry that request's id as
 * `relatedRequestId`. The session starts the transport, and closes it when the session ends. If the
 * transport closes, the session ends. Listeners already set on the transport are called first, as
 * in the SDK.
 *
 * If `send` fails and the transport has a `sessionId`, only that message is lost: each message has
 * a stream of its own, which may be gone while the session continues. A lost request fails with
 * `TRANSPORT_CLOSED`. Without a `sessionId`, a failed `send` ends the session, like a broken pipe.
 *
 * @see MCP 2025-11-25, basic/transports, "Custom Transports"
 */
export function fromSdkTransport(transport: SdkTransport): Transport {
  return ({ limits, report, peer }) => {
    const connection = new SdkConnection(transport, report);
    return {
      reader: messageReaderActor(connection, { ...limits, report, peer }),
      writer: messageWriterActor(connection, { ...limits, report }),
    };
  };
}

/** The source and sink of a session over one SDK transport. */
class SdkConnection {
  readonly #transport: SdkTransport;
  readonly #report: Report<TransportFactName>;
  /** Id of the `initialize` request, until it is answered. */
  #initialize: RequestId | undefined;
  #broken: (error: unknown) => void = () => {};

  constructor(transport: SdkTransport, report: Report<TransportFactName>) {
    this.#transport = transport;
    this.#report = report;
  }

  // Called by the reader.

  start(events: { message(value: unknown): void; ended(): void }): () => void {
    const transport = this.#transport;
    const { onmessage, onclose, onerror } = transport;
    let finish = () => transport.close();
    const close = (error: unknown) => {
      finish = () => Promise.resolve();
      events.ended();
      // The output is gone too, so the session need not wait for its calls.
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
      this.#reportFailure('reported', error);
    };
    promised(() => transport.start()).catch((error: unknown) => {
      this.#reportFailure('did not start', error);
      close(error);
    });
    return () => {
      transport.onmessage = onmessage;
      transport.onclose = onclose;
      transport.onerror = onerror;
      promised(() => finish()).catch((error: unknown) =>
        this.#reportFailure('did not close', error),
      );
    };
  }

  #noteInitialize(message: object): void {
    if (!isJsonObject(message) || message['method'] !== Method.initialize) return;
    this.#initialize = message['id'] as RequestId;
  }

  #reportFailure(what: string, error: unknown): void {
    this.#report({
      level: 'warning',
      name: 'transport.failed',
      message: `The transport ${what}: ${textOfError(error)}`,
      details: { error },
    });
  }

  // Called by the writer.

  send(frame: OutboundFrame, relatedTo: RequestId | undefined): Promise<void> {
    this.#setRevision(frame);
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

  /** Sets the transport's protocol version before the client learns it. */
  #setRevision(frame: OutboundFrame): void {
    if (this.#initialize === undefined || !('result' in frame)) return;
    if (frame.id !== this.#initialize) return;
    this.#initialize = undefined;
    const { protocolVersion } = frame.result as { readonly protocolVersion?: unknown };
    if (typeof protocolVersion === 'string') this.#transport.setProtocolVersion?.(protocolVersion);
  }
}

/** Converts an exception into a rejection. */
async function promised(act: () => Promise<void>): Promise<void> {
  await act();
}
