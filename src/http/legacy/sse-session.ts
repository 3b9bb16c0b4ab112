/**
 * One session of the deprecated HTTP+SSE: all that it says goes on its one stream, and it ends with
 * that. Nothing can be resumed.
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
import type { Clock } from '../../actors/clock.ts';
import { Shares } from '../../actors/room.ts';
import type { Room } from '../../actors/room.ts';
import type { ActorFactName, Report } from '../../actors/facts.ts';
import { tellUnserializable } from '../../actors/writer/outbound-flow.ts';
import { plainActor } from '../../machines/port.ts';
import type { Port, Ref } from '../../machines/port.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../machines/peer-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import type { Principal, RequestOrigin } from '../../protocol/request-origin.ts';
import type { ListenOptions, McpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import { defaultReport } from '../../session/default-report.ts';
import type { SharingActors } from '../../transports/transport.ts';
import { endInWords } from '../admission.ts';
import type { Admission, AdmissionEnd } from '../admission.ts';
import { tell } from '../facts.ts';
import type { HttpFactName } from '../facts.ts';
import { partyOf, servedRequest } from '../http-exchange.ts';
import type { EventSink, HttpExchange } from '../http-exchange.ts';
import type { HttpLimits } from '../options.ts';
import { streamHeaders } from '../request-answer.ts';
import { unlisted } from '../roster.ts';
import type { Tended } from '../upkeep.ts';

export interface SseSessionOptions {
  readonly listening: ListenOptions;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  /** What the endpoint holds of its clients. */
  readonly room: Room;
  readonly ended: () => void;
}

export class SseSession implements Tended {
  readonly id = crypto.randomUUID();
  readonly server: McpServer;
  readonly principal: Principal | undefined;
  readonly mcp: McpSession;
  place = unlisted;
  readonly #limits: HttpLimits;
  readonly #clock: Clock;
  readonly #sink: EventSink;
  #report: Report<HttpFactName | ActorFactName> = defaultReport;
  #router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;
  /**
   * Of the token that lasts for longest of those that its client has shown: its stream cannot be
   * opened again with another one.
   */
  #admission: Admission | undefined;
  /** When it spoke last, and since when its client has left something unread. */
  #spokeAt: number;
  #unreadSince: number | undefined = undefined;

  constructor(exchange: HttpExchange, server: McpServer, options: SseSessionOptions) {
    const { listening, limits, clock, room, ended } = options;
    this.server = server;
    this.principal = exchange.principal;
    this.#admission = exchange.admission;
    this.#limits = limits;
    this.#clock = clock;
    this.#spokeAt = clock.now();
    this.mcp = server.listen(({ report }) => {
      this.#report = report;
      return this.#actors(new Shares(room, partyOf(exchange)));
    }, listening);
    this.#sink = exchange.stream(streamHeaders);
    // Relative to the address of the stream: nobody here knows below which path it is mounted.
    this.#sink.write(`event: endpoint\ndata: messages?sessionId=${this.id}\n\n`);
    exchange.onGone(() => this.#end('The client has closed its stream'));
    const over = () => {
      this.#sink.end();
      ended();
    };
    this.mcp.actor.subscribe({ complete: over, error: over });
  }

  /** Takes a message that the client has posted. */
  receive(exchange: HttpExchange, frame: InboundFrame): void {
    const { admission } = exchange;
    const lasts = this.#admission?.until ?? 0;
    if (admission && admission.until >= lasts) this.#admission = admission;
    const isAnswered = frame.kind === 'request' || frame.kind === 'batch';
    const given = isAnswered ? { ...frame, origin: originOf(exchange) } : frame;
    this.#router?.send({ type: 'frames.received', frames: [given] });
  }

  tend(now: number): void {
    const end = this.#admission?.endedBy(now);
    if (end) return this.#expire(end);
    const { keepaliveIntervalMs, unreadTimeoutMs } = this.#limits;
    if (this.#sink.untakenBytes === 0) this.#unreadSince = undefined;
    else if (now - (this.#unreadSince ??= now) >= unreadTimeoutMs) {
      return this.#cut(`has not read its stream for ${unreadTimeoutMs} ms`);
    }
    if (keepaliveIntervalMs === 0 || now - this.#spokeAt < keepaliveIntervalMs) return;
    this.#spokeAt = now;
    this.#sink.write(':\n\n');
  }

  /** Ends when the session is drained. */
  async close(drainTimeoutMs?: number): Promise<void> {
    this.mcp.shutdown('The server is closing', drainTimeoutMs);
    await this.mcp.closed;
  }

  #actors(shares: Shares): SharingActors {
    const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
      this.#router = input.router;
      return { receive: () => {} };
    });
    const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { owner } }) => ({
      receive: (event) => {
        if (event.type === 'frames.send') this.#send(event);
        else if (event.type === 'output.flush') owner.send({ type: 'output.flushed' });
      },
    }));
    return { reader, writer, shares };
  }

  #send({ frames, rejected }: FramesToSend): void {
    for (const frame of frames) {
      const text = encodeFrame(frame, (message, error) =>
        tellUnserializable(this.#report, { message, error, rejected }),
      );
      if (text !== '') this.#write(`event: message\ndata: ${text}\n`);
    }
    this.#spokeAt = this.#clock.now();
  }

  #write(event: string): void {
    this.#sink.write(event);
    const { maxUnreadBytes } = this.#limits;
    const unread = this.#sink.untakenBytes;
    if (unread - event.length > maxUnreadBytes) this.#cut(`has not read ${unread} bytes`);
  }

  #expire(end: AdmissionEnd): void {
    const message = `The last token that its client has shown ${endInWords[end]}: its session ends`;
    tell(this.#report, 'info', `authorization.${end}`, message);
    this.#end(message);
  }

  #cut(why: string): void {
    tell(this.#report, 'warning', 'stream.cut', `The client ${why}: its session ends`);
    this.#sink.cut();
    this.#end(`The client ${why}`);
  }

  #end(reason: string): void {
    if (this.mcp.state !== 'closed') this.mcp.shutdown(reason, 0);
  }
}

/** What a handler sees of the request that posted its call. The stream is not its own to close. */
function originOf(exchange: HttpExchange): RequestOrigin {
  const http = { ...servedRequest(exchange), closeConnection: () => {} };
  return { idScope: 'session', principal: exchange.principal, http };
}
