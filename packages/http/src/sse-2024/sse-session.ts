/**
 * One session of the deprecated HTTP+SSE: all that it says goes on its one stream, and it ends with
 * that. Nothing can be resumed.
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
import { describeEnd } from '../admission.ts';
import type { TokenValidity, TokenEnd } from '../admission.ts';
import { EndpointSession } from '../endpoint-session.actor.ts';
import { formatReport } from '../facts.ts';
import { servedRequest } from '../http-exchange.ts';
import type { ExchangeHome, HttpExchange } from '../http-exchange.ts';
import type { Claim, ClientKey, SlotHolder } from '../session-slots.ts';
import { streamHeaders } from '../answers.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';
import { OwnedSession } from '../owner/owned-session.ts';
import type { OwnedCopy } from '../owner/owned-session.ts';
import type { Ownership } from '../owner/ownership.ts';
import { reportUnavailable } from '../owner/unavailable.ts';
import { isGreeting } from '../legacy/greeting.ts';

export interface SseSessionOptions {
  readonly listening: ListenOptions;
  readonly party: ClientKey;
  readonly home: ExchangeHome;
  /** What this node owns; undefined if it is alone. */
  readonly ownership: Ownership | undefined;
  /** Told once, when it is over. */
  readonly ended: () => void;
}

export class SseSession extends EndpointSession implements SinkOwner, SlotHolder, OwnedCopy {
  /** Its one stream ends with its connection. */
  readonly said = [];
  readonly id = crypto.randomUUID();
  readonly server: McpServer;
  readonly principal: Principal | undefined;
  readonly mcp: McpSession;
  readonly party: ClientKey;
  /** When its client spoke last, the clock's milliseconds. */
  usedAt: number;
  /** Its stream is open as long as it is. */
  claim: Claim = 'silent';
  /** All that a dump could show is in the session's own. */
  readonly view = undefined;
  readonly #home: ExchangeHome;
  readonly #sink: WatchedSink;
  /**
   * Of the token that lasts for longest of those that its client has shown: its stream cannot be
   * opened again with another one.
   */
  #admission: TokenValidity | undefined;

  constructor(exchange: HttpExchange, server: McpServer, options: SseSessionOptions) {
    super();
    const { listening, party, home, ownership, ended } = options;
    this.server = server;
    this.principal = exchange.principal;
    this.#admission = exchange.admission;
    this.#home = home;
    this.party = party;
    this.usedAt = home.clock.now();
    this.mcp = server.listen(({ report }) => this.actors(report, party.shares), listening);
    this.#sink = exchange.stream(streamHeaders);
    const share = ownership && this.#share(ownership);
    // Relative to the address of the stream: nobody here knows below which path it is mounted.
    this.#sink.write(`event: endpoint\ndata: messages?sessionId=${this.id}\n\n`);
    this.#sink.ownedBy(this);
    exchange.onGone(() => {
      this.#sink.cut();
      this.#end('The client has closed its stream');
    });
    const over = () => {
      this.#sink.end();
      ended();
      if (!share?.isHere) return;
      share.remove().catch(reportUnavailable(home.report, 'The other nodes do not know of an end'));
    };
    this.mcp.actor.subscribe({ complete: over, error: over });
  }

  /** Takes a message that the client has posted. */
  receive(exchange: HttpExchange, frame: InboundFrame): void {
    const { admission } = exchange;
    const lasts = this.#admission?.until ?? 0;
    if (admission && admission.until >= lasts) this.#admission = admission;
    this.usedAt = this.#home.clock.now();
    if (!isGreeting(frame)) this.claim = 'listening';
    const isAnswered = frame.kind === 'request' || frame.kind === 'batch';
    const given = isAnswered ? { ...frame, origin: originOf(exchange) } : frame;
    this.router.send({ type: 'frames.received', frames: [given] });
  }

  /** Its client, once that has said who it is. */
  get client(): PeerDescription | undefined {
    return this.mcp.actor.getSnapshot().context.client;
  }

  get admission(): TokenValidity | undefined {
    return this.#admission;
  }

  expired(end: TokenEnd): void {
    const message = `The last token that its client has shown ${describeEnd[end]}: its session ends`;
    formatReport(this.report, 'info', `authorization.${end}`, message);
    this.#end(message);
  }

  unread(why: string): void {
    formatReport(this.report, 'warning', 'stream.cut', `The client ${why}: its session ends`);
    this.#sink.cut();
    this.#end(`The client ${why}`);
  }

  /** This node may no longer serve it: it ends with its stream. */
  abandon(): void {
    this.#end('This process has lost its right to the session');
  }

  evict(): void {
    this.#end('Another session needed its place');
  }

  /** Ends when the session is drained. */
  async close(drainTimeoutMs?: number): Promise<void> {
    this.mcp.shutdown('The server is closing', drainTimeoutMs);
    await this.mcp.closed;
  }

  /** All of it goes on its one stream. */
  send(event: FramesToSend): void {
    for (const frame of event.frames) {
      const text = encodeFrame(frame, (message, error) =>
        this.unserializable(message, error, event),
      );
      if (text !== '') this.#sink.write(`event: message\ndata: ${text}\n`);
    }
  }

  /** Lets the other nodes know where the session is, before its client does. */
  #share(ownership: Ownership): OwnedSession {
    const who = { id: this.id, principal: this.principal?.id };
    const share = new OwnedSession(who, this, ownership, this.usedAt);
    const begun = share.begin([{ slot: 'stream', text: '{}' }]);
    this.#sink.holdUntil(begun);
    begun.catch((error: unknown) => {
      reportUnavailable(this.#home.report, 'A session could not begin')(error);
      this.#end('The other nodes could not be told of the session');
    });
    return share;
  }

  #end(reason: string): void {
    if (this.mcp.state !== 'closed') this.mcp.shutdown(reason, 0);
  }
}

/** What a handler sees of the request that posted its call. The stream is not its own to close. */
function originOf(exchange: HttpExchange): RequestOrigin {
  const http = { ...servedRequest(exchange), closeConnection: () => {} };
  const { principal, tokens } = exchange;
  return { idScope: 'session', principal, tokens, http };
}
