/** Serves a session over a transport of the official SDK. */
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
 * Serves one session over anything with the shape of the official SDK's `Transport`: the SDK's
 * Streamable HTTP, its in-memory pair, or a transport of your own.
 *
 * A message that a handler sends while it serves a request goes out with that request's id as
 * `relatedRequestId`. The session starts the transport and closes it when the session ends. If the
 * transport closes, the session ends. Listeners that are already set on the transport are called
 * first, as the SDK does.
 *
 * If `send` fails and the transport has a `sessionId`, only that message is lost: there, each
 * message has a stream of its own, which may be gone while the session goes on. If the lost message
 * is a request, it fails with `TRANSPORT_CLOSED`. Without a `sessionId`, a failed `send` ends the
 * session, as a broken pipe does.
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

/** Both ends of a session, over one transport. */
class SdkConnection {
  readonly #transport: SdkTransport;
  readonly #report: Report<TransportFactName>;
  /** The id of `initialize`, until its answer tells the revision. */
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
      // No answer can be sent either, so the session need not wait for its calls.
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

  /** Tells the transport the revision before the client learns it. */
  #tellRevision(frame: OutboundFrame): void {
    if (this.#initialize === undefined || !('result' in frame)) return;
    if (frame.id !== this.#initialize) return;
    this.#initialize = undefined;
    const { protocolVersion } = frame.result as { readonly protocolVersion?: unknown };
    if (typeof protocolVersion === 'string') this.#transport.setProtocolVersion?.(protocolVersion);
  }
}

/** Turns a thrown error into a rejected promise. */
async function promised(act: () => Promise<void>): Promise<void> {
  await act();
}
