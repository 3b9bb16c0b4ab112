/**
 * One session of the deprecated HTTP+SSE transport. All outgoing messages use its one stream, the
 * session ends with that stream, and nothing can be resumed.
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import type { PeerDescription } from '../../../../src/protocol/initialize.ts';
import type { FramesToSend } from '../../../../src/machines/peer-ports.ts';
import { encodeFrame } from '../../../../src/protocol/codec.ts';
import type { InboundFrame } from '../../../../src/protocol/frames.ts';
import type { Principal, RequestOrigin } from '../../../../src/protocol/request-origin.ts';
import type { ListenOptions, McpServer } from '../../../../src/server/create-server.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { describeEnd } from '../token-validity.ts';
import type { TokenValidity, TokenEnd } from '../token-validity.ts';
import { EndpointSession } from '../endpoint-session.actor.ts';
import { formatReport } from '../facts.ts';
import { requestForHandlers } from '../http-exchange.ts';
import type { ExchangeContext, HttpExchange } from '../http-exchange.ts';
import type { SlotPriority, ClientAccount, SlotHolder } from '../session-slots.ts';
import { streamHeaders } from '../answers.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';
import { OwnedSession } from '../owner/owned-session.ts';
import type { LocalSession } from '../owner/owned-session.ts';
import type { Ownership } from '../owner/ownership.ts';
import { reportUnavailable } from '../owner/store-errors.ts';
import { isHandshake } from '../legacy/handshake.ts';

export interface SseSessionOptions {
  readonly listening: ListenOptions;
  readonly account: ClientAccount;
  readonly endpoint: ExchangeContext;
  /** Session ownership of this node; undefined for a single node. */
  readonly ownership: Ownership | undefined;
  /** Called once when the session has ended. */
  readonly onEnded: () => void;
}

export class SseSession extends EndpointSession implements SinkOwner, SlotHolder, LocalSession {
  /** Always empty: the stream cannot be resumed. */
  readonly loggedEvents = [];
  readonly id = crypto.randomUUID();
  readonly server: McpServer;
  readonly principal: Principal | undefined;
  readonly mcp: McpSession;
  readonly account: ClientAccount;
  /** Time of the client's last message, clock ms. */
  usedAt: number;
  /** Never `idle`, because the stream is open as long as the session. */
  priority: SlotPriority = 'silent';
  /** The session's own dump shows everything. */
  readonly view = undefined;
  readonly #endpoint: ExchangeContext;
  readonly #sink: WatchedSink;
  /**
   * The longest-lived token the client has presented: its stream cannot be reopened with another
   * one.
   */
  #tokenValidity: TokenValidity | undefined;

  constructor(exchange: HttpExchange, server: McpServer, options: SseSessionOptions) {
    super();
    const { listening, account, endpoint, ownership, onEnded } = options;
    this.server = server;
    this.principal = exchange.principal;
    this.#tokenValidity = exchange.tokenValidity;
    this.#endpoint = endpoint;
    this.account = account;
    this.usedAt = endpoint.clock.now();
    this.mcp = server.listen(({ report }) => this.actors(report, account.quotas), listening);
    this.#sink = exchange.stream(streamHeaders);
    const owned = ownership && this.#own(ownership);
    // Relative to the stream's URL, because the mount path is unknown here.
    this.#sink.write(`event: endpoint\ndata: messages?sessionId=${this.id}\n\n`);
    this.#sink.setOwner(this);
    exchange.onDisconnected(() => {
      this.#sink.cut();
      this.#end('The client closed its stream');
    });
    const over = () => {
      this.#sink.end();
      onEnded();
      if (!owned?.isServedHere) return;
      owned
        .remove()
        .catch(reportUnavailable(endpoint.report, 'The end of a session could not be stored'));
    };
    this.mcp.actor.subscribe({ complete: over, error: over });
  }

  /** Handles a message posted by the client. */
  receive(exchange: HttpExchange, frame: InboundFrame): void {
    const { tokenValidity } = exchange;
    const lasts = this.#tokenValidity?.until ?? 0;
    if (tokenValidity && tokenValidity.until >= lasts) this.#tokenValidity = tokenValidity;
    this.usedAt = this.#endpoint.clock.now();
    if (!isHandshake(frame)) this.priority = 'listening';
    const isAnswered = frame.kind === 'request' || frame.kind === 'batch';
    const given = isAnswered ? { ...frame, origin: originOf(exchange) } : frame;
    this.router.send({ type: 'frames.received', frames: [given] });
  }

  /** The client's description; undefined before `initialize`. */
  get client(): PeerDescription | undefined {
    return this.mcp.actor.getSnapshot().context.client;
  }

  get tokenValidity(): TokenValidity | undefined {
    return this.#tokenValidity;
  }

  onTokenEnded(end: TokenEnd): void {
    const message = `The last token of the client ${describeEnd[end]}: its session ends`;
    formatReport(this.report, 'info', `authorization.${end}`, message);
    this.#end(message);
  }

  onStalled(why: string): void {
    formatReport(this.report, 'warning', 'stream.cut', `The client ${why}: its session ends`);
    this.#sink.cut();
    this.#end(`The client ${why}`);
  }

  /** Ends the session with its stream, because this node may no longer serve it. */
  abandon(): void {
    this.#end('This process no longer owns the session');
  }

  evict(): void {
    this.#end('Another session needed its slot');
  }

  /** Resolves once the session is drained. */
  async close(drainTimeoutMs?: number): Promise<void> {
    this.mcp.shutdown('The server is closing', drainTimeoutMs);
    await this.mcp.closed;
  }

  send(event: FramesToSend): void {
    for (const frame of event.frames) {
      const text = encodeFrame(frame, (message, error) =>
        this.reportUnserializable(message, error, event),
      );
      if (text !== '') this.#sink.write(`event: message\ndata: ${text}\n`);
    }
  }

  /** Stores the session's location before its client learns its id. */
  #own(ownership: Ownership): OwnedSession {
    const who = { id: this.id, principal: this.principal?.id };
    const owned = new OwnedSession(who, this, ownership, this.usedAt);
    const begun = owned.begin([{ slot: 'stream', text: '{}' }]);
    this.#sink.holdUntil(begun);
    begun.catch((error: unknown) => {
      reportUnavailable(this.#endpoint.report, 'A session could not be stored')(error);
      this.#end('The session could not be stored for other nodes');
    });
    return owned;
  }

  #end(reason: string): void {
    if (this.mcp.state !== 'closed') this.mcp.shutdown(reason, 0);
  }
}

/** The posted request as handlers see it. They cannot close the session's stream. */
function originOf(exchange: HttpExchange): RequestOrigin {
  const http = { ...requestForHandlers(exchange), closeConnection: () => {} };
  const { principal, tokens } = exchange;
  return { idScope: 'session', principal, tokens, http };
}
