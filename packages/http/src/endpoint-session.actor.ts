/**
 * A session whose transport is the endpoint: requests deliver the client's messages, responses and
 * streams carry the server's. Subclasses decide where each outgoing frame goes.
 */
import type { ActorFactName, Report } from '../../../src/actors/facts.ts';
import type { Quotas } from '../../../src/actors/memory-budget.ts';
import type { HttpRequestsView, HttpSessionView } from '../../../src/actors/writer/http-view.ts';
import { reportUnserializable } from '../../../src/actors/writer/outbound-flow.ts';
import { plainActor } from '../../../src/machines/port.ts';
import type { Behaviour, Port, Recipient } from '../../../src/machines/port.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../../../src/machines/peer-ports.ts';
import type { ActorlessClient } from '../../../src/machines/session-ports.ts';
import type { InitializedClient, PeerDescription } from '../../../src/protocol/initialize.ts';
import type { AnsweredInput, OutboundMessage } from '../../../src/protocol/frames.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { itemsBeforeSession } from '../../../src/server/features/registry.ts';
import type { ItemLookup } from '../../../src/server/features/registry.ts';
import type { Tool } from '../../../src/server/define/tool.ts';
import type { McpServer } from '../../../src/server/create-server.ts';
import type { McpSession } from '../../../src/server/session.ts';
import type { SharedTransportActors } from '../../../src/transports/transport.ts';
import type { HttpFactName } from './facts.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { DeliveryAddress } from '../../../src/actors/writer/outbound-flow.ts';

export abstract class EndpointSession {
  report: Report<HttpFactName | ActorFactName> = defaultReport;
  /** Receives incoming frames once the reader has started. */
  protected router: Recipient<RouterEvent> = noRecipient;
  /** The session actor, while the writer runs. */
  #owner: Recipient<TransportFact> = noRecipient;

  /** View for dumps; undefined if it would be empty. */
  abstract readonly view: HttpSessionView | HttpRequestsView | undefined;

  /** Sends frames on the streams they belong to. */
  abstract send(event: FramesToSend): void;

  /** Ends the answer to a cancelled request. */
  drop(_request: AnsweredInput): void {}

  /**
   * Reader and writer of the transport.
   *
   * @param client set if the session can start without actors
   */
  protected actors(
    report: Report,
    quotas: Quotas,
    client?: InitializedClient,
  ): SharedTransportActors {
    this.report = report;
    const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
      this.router = input.router;
      return idleReader;
    });
    const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { owner } }) => {
      this.onWritable(owner);
      return new EndpointWriter(this);
    });
    return {
      reader,
      writer,
      quotas,
      client: client && new EndpointClient(this, client),
      onEnded: () => this.ended(),
    };
  }

  /** Serves the session without actors. */
  served(router: Recipient<RouterEvent>, owner: Recipient<TransportFact>): void {
    this.router = router;
    this.#owner = owner;
  }

  /** True once the client sent `notifications/initialized`. */
  get isReady(): boolean {
    return true;
  }

  /** Called once `initialize` was answered. */
  greeted(): void {}

  /** Called once the session has ended, with or without actors. */
  protected ended(): void {}

  /** Called once the writer has started. */
  protected onWritable(owner: Recipient<TransportFact>): void {
    this.#owner = owner;
  }

  onUnwritable(): void {
    this.#owner = noRecipient;
  }

  /** Sends a transport fact to the session while its writer runs. */
  notify(fact: TransportFact): void {
    this.#owner.send(fact);
  }

  /** Reports a message that JSON cannot represent to its sender or to the log. */
  protected reportUnserializable(
    message: OutboundMessage,
    error: unknown,
    address: DeliveryAddress = {},
  ): void {
    reportUnserializable(this.report, { message, error, address });
  }
}

/** Tools visible to the sender of a request. */
export function visibleTools(
  session: {
    readonly server: McpServer;
    readonly mcp: McpSession;
    readonly client: PeerDescription | undefined;
  },
  { principal }: HttpExchange,
): ItemLookup<Tool> {
  return itemsBeforeSession(session.server.tools, () => {
    // Lazy: reading `mcp` may start the session.
    const { mcp, client: peer } = session;
    return peer && { peer, origin: { idScope: 'session', principal }, session: mcp };
  });
}

/** Recipient before the actors start and after they end. */
const noRecipient = { send: (_event: unknown): void => {} };

/** A reader without input: requests deliver frames directly. */
const idleReader: Behaviour<ReaderEvent> = { receive: () => {} };

/** Client of a session without actors. */
class EndpointClient implements ActorlessClient {
  readonly client: InitializedClient;
  readonly writer: EndpointWriter;
  readonly #session: EndpointSession;

  constructor(session: EndpointSession, client: InitializedClient) {
    this.client = client;
    this.writer = new EndpointWriter(session);
    this.#session = session;
  }

  get isInitialized(): boolean {
    return this.#session.isReady;
  }

  onServed(router: Recipient<RouterEvent>, owner: Recipient<TransportFact>): void {
    this.#session.served(router, owner);
  }

  onInitializeAnswered(): void {
    this.#session.greeted();
  }
}

/** Writer of a session. A class, because closures would cost every session memory. */
class EndpointWriter implements Behaviour<WriterEvent> {
  readonly #session: EndpointSession;

  constructor(session: EndpointSession) {
    this.#session = session;
  }

  get view(): { readonly http: EndpointSession['view'] } {
    return { http: this.#session.view };
  }

  receive(event: WriterEvent): void {
    if (event.type === 'frames.send') this.#session.send(event);
    else if (event.type === 'output.flush') this.#session.notify({ type: 'output.flushed' });
    else this.#session.drop(event.request);
  }

  stop(): void {
    this.#session.onUnwritable();
  }
}
