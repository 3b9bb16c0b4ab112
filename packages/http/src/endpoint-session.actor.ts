/**
 * A session whose transport is the endpoint: requests bring what its client says, and their answers
 * and streams take what it says itself. Where each frame goes is decided by the kind of session.
 */
import type { ActorFactName, Report } from '../../../src/actors/facts.ts';
import type { Quotas } from '../../../src/actors/room.ts';
import type { HttpRequestsView, HttpSessionView } from '../../../src/actors/writer/http-view.ts';
import { tellUnserializable } from '../../../src/actors/writer/outbound-flow.ts';
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
import { itemsAtDoor } from '../../../src/server/features/registry.ts';
import type { ItemsAtDoor } from '../../../src/server/features/registry.ts';
import type { Tool } from '../../../src/server/define/tool.ts';
import type { McpServer } from '../../../src/server/create-server.ts';
import type { McpSession } from '../../../src/server/session.ts';
import type { SharingActors } from '../../../src/transports/transport.ts';
import type { HttpFactName } from './facts.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { DeliveryAddress } from '../../../src/actors/writer/outbound-flow.ts';

export abstract class EndpointSession {
  report: Report<HttpFactName | ActorFactName> = defaultReport;
  /** Takes what requests bring, once its reader has started. */
  protected router: Recipient<RouterEvent> = nobody;
  /** The actor of the session, while its writer runs. */
  #owner: Recipient<TransportFact> = nobody;

  /** As a dump shows it; undefined if there is nothing to show. */
  abstract readonly view: HttpSessionView | HttpRequestsView | undefined;

  /** Puts frames on the streams that they belong to. */
  abstract send(event: FramesToSend): void;

  /** A request was cancelled: nothing more is sent for it. */
  drop(_request: AnsweredInput): void {}

  /** The two actors of its transport. @param client if it may be served without them */
  protected actors(report: Report, shares: Quotas, client?: InitializedClient): SharingActors {
    this.report = report;
    const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
      this.router = input.router;
      return deaf;
    });
    const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { owner } }) => {
      this.writable(owner);
      return new EndpointWriter(this);
    });
    return {
      reader,
      writer,
      shares,
      known: client && new EndpointClient(this, client),
      ended: () => this.ended(),
    };
  }

  /** It is served without actors. */
  served(router: Recipient<RouterEvent>, owner: Recipient<TransportFact>): void {
    this.router = router;
    this.#owner = owner;
  }

  /** Whether its client has said that it is ready. */
  get isReady(): boolean {
    return true;
  }

  /** Its client is answered. */
  greeted(): void {}

  /** The session is over, whether it had actors or not. */
  protected ended(): void {}

  /** Its writer has started. */
  protected writable(owner: Recipient<TransportFact>): void {
    this.#owner = owner;
  }

  unwritable(): void {
    this.#owner = nobody;
  }

  /** Tells the session a fact of its transport, while its writer runs. */
  tell(fact: TransportFact): void {
    this.#owner.send(fact);
  }

  /** Reports a message that JSON cannot represent to its sender, or to the log. */
  protected unserializable(
    message: OutboundMessage,
    error: unknown,
    address: DeliveryAddress = {},
  ): void {
    tellUnserializable(this.report, { message, error, address });
  }
}

/** The tools that the sender of a request in a session sees. */
export function toolsSeenIn(
  session: {
    readonly server: McpServer;
    readonly mcp: McpSession;
    readonly client: PeerDescription | undefined;
  },
  { principal }: HttpExchange,
): ItemsAtDoor<Tool> {
  return itemsAtDoor(session.server.tools, () => {
    // Read only now: it may have to be made.
    const { mcp, client: peer } = session;
    return peer && { peer, origin: { idScope: 'session', principal }, session: mcp };
  });
}

/** Whom it tells before its actors have started, and after their end. */
const nobody = { send: (_event: unknown): void => {} };

/** What its reader does: nothing, because what comes in comes by requests. */
const deaf: Behaviour<ReaderEvent> = { receive: () => {} };

/** The client of a session without actors. */
class EndpointClient implements ActorlessClient {
  readonly client: InitializedClient;
  readonly writer: EndpointWriter;
  readonly #session: EndpointSession;

  constructor(session: EndpointSession, client: InitializedClient) {
    this.client = client;
    this.writer = new EndpointWriter(session);
    this.#session = session;
  }

  get isReady(): boolean {
    return this.#session.isReady;
  }

  served(router: Recipient<RouterEvent>, owner: Recipient<TransportFact>): void {
    this.#session.served(router, owner);
  }

  greeted(): void {
    this.#session.greeted();
  }
}

/** The writer of a session. It is one object: functions would cost every session. */
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
    else if (event.type === 'output.flush') this.#session.tell({ type: 'output.flushed' });
    else this.#session.drop(event.request);
  }

  stop(): void {
    this.#session.unwritable();
  }
}
