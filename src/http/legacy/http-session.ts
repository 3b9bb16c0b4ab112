/**
 * One session over HTTP, of the revisions with a handshake: what its client posts goes in, and what
 * it says goes on the stream that it belongs to.
 *
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 */
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import { plainActor } from '../../machines/port.ts';
import type { Port, Ref } from '../../machines/port.ts';
import { httpSessionMachine } from '../../machines/http-session.machine.ts';
import type {
  ChannelFact,
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../machines/session-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import type { AnsweredInput, InboundFrame } from '../../protocol/frames.ts';
import type { Principal } from '../../protocol/request-origin.ts';
import type { ListenOptions, McpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import type { TransportActors } from '../../transports/transport.ts';
import type { EventSink, HttpExchange } from '../http-exchange.ts';
import type { HttpLimits } from '../options.ts';
import { streamHeaders } from '../request-answer.ts';
import { EventLog } from './event-log.ts';
import { PostAnswer } from './post-answer.ts';
import type { AnsweringSession } from './post-answer.ts';
import { PushStreams } from './push-streams.ts';

export interface HttpSessionOptions {
  readonly id: string;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly principal: Principal | undefined;
  /** False if every answer is JSON. */
  readonly streams: boolean;
  /** The session is over. */
  readonly ended: (session: HttpSession) => void;
}

/** Why a client cannot be asked whose answers are never streams. */
const jsonOnly = 'this server answers with JSON alone, and no request of its own can go with it';

export class HttpSession implements AnsweringSession {
  readonly id: string;
  readonly log: EventLog;
  readonly streams: boolean;
  /** Whose session it is; undefined without authorization. */
  readonly principal: Principal | undefined;
  readonly server: McpServer;
  /** The session that is served. */
  readonly mcp: McpSession;
  readonly #options: HttpSessionOptions;
  readonly #pushes: PushStreams;
  /** How long it is kept. */
  readonly #life: ActorRefFrom<typeof httpSessionMachine>;
  /** Answers that are due. */
  readonly #due = new Set<PostAnswer>();
  #router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;
  #tell: (fact: ChannelFact) => void = () => {};
  #streamCount = 0;
  /** When it was last quiet or used, the clock's milliseconds. */
  #usedAt: number;

  constructor(server: McpServer, listening: ListenOptions, options: HttpSessionOptions) {
    const { id, limits, clock, principal, streams } = options;
    this.#options = options;
    this.id = id;
    this.principal = principal;
    this.server = server;
    this.streams = streams;
    this.log = new EventLog(limits, clock);
    this.#usedAt = clock.now();
    this.#pushes = new PushStreams(this.log, () => {});
    this.#life = createActor(httpSessionMachine, {
      input: { idleTimeoutMs: limits.sessionIdleTimeoutMs },
      clock,
    });
    this.#life.subscribe({ complete: () => this.#over() });
    this.mcp = server.listen(() => this.#actors(), {
      ...listening,
      onEmitted: (event) => {
        listening.onEmitted?.(event);
        if (event.type === 'session.closed') this.#life.send({ type: 'session.ended' });
      },
    });
    this.#life.start();
  }

  /** The revision that was negotiated; undefined before that. */
  get dialect(): Dialect | undefined {
    return this.mcp.actor.getSnapshot().context.client?.dialect;
  }

  get isEvictable(): boolean {
    return this.#life.getSnapshot().hasTag('evictable');
  }

  /** When it was last used, the clock's milliseconds. */
  get usedAt(): number {
    return this.#usedAt;
  }

  /** The answers that are due. */
  get due(): ReadonlySet<PostAnswer> {
    return this.#due;
  }

  // What the client sends.

  /** Takes one message. A request and a batch are answered; anything else is accepted. */
  post(exchange: HttpExchange, frame: InboundFrame): void {
    this.#use();
    switch (frame.kind) {
      case 'request':
        return this.#receive({ ...frame, origin: this.#answer(exchange) });
      case 'batch':
        return this.#receive({ ...frame, origin: this.#answer(exchange) });
      case 'invalid':
        return this.#receive({ ...frame, origin: this.#answer(exchange, 400) });
      default:
        this.#receive(frame);
        exchange.answer({ status: 202 });
    }
  }

  /** Opens a stream for what belongs to no request, or goes on with one that was cut. */
  get(exchange: HttpExchange): void {
    this.#use();
    const headers = { ...streamHeaders, 'mcp-session-id': this.id };
    const sink = exchange.stream(headers);
    const stream = this.nextStream();
    this.log.open(stream);
    sink.write(this.opening(stream));
    exchange.onGone(() => this.#closed(sink));
    this.#pushes.open(stream, sink);
    this.#tell({ type: 'channel.opened' });
  }

  /** The client has ended the session. */
  delete(): void {
    this.#life.send({ type: 'session.ended' });
  }

  evict(): void {
    this.#life.send({ type: 'session.evicted' });
  }

  /** Nothing has happened for a while. @param before the clock's milliseconds */
  quiet(before: number): void {
    if (this.#usedAt >= before || this.#due.size > 0 || this.#pushes.size > 0) return;
    this.#life.send({ type: 'session.quieted' });
  }

  /** Ends when the session is drained. */
  async close(reason: string, drainTimeoutMs?: number): Promise<void> {
    this.mcp.shutdown(reason, drainTimeoutMs);
    await this.mcp.closed;
  }

  // What its answers ask.

  nextStream(): string {
    return `${++this.#streamCount}`;
  }

  opening(stream: string): string {
    const { retryMs } = this.#options.limits;
    return this.dialect?.firstEvent(this.log.lastId(stream), retryMs) ?? '';
  }

  answerEnded(answer: PostAnswer): void {
    this.#due.delete(answer);
  }

  #answer(exchange: HttpExchange, status = 200): PostAnswer {
    const { clock, streams } = this.#options;
    const options = {
      idScope: 'session',
      unaskable: streams ? undefined : jsonOnly,
    } as const;
    const answer = new PostAnswer(exchange, options, this, { receivedAt: clock.now(), status });
    this.#due.add(answer);
    return answer;
  }

  #use(): void {
    this.#usedAt = this.#options.clock.now();
    if (this.isEvictable) this.#life.send({ type: 'session.used' });
  }

  /** What was asked on it may be lost: it is asked again on another one, if there is any. */
  #closed(sink: EventSink): void {
    this.#pushes.closed(sink);
    this.#tell({ type: 'channel.closed' });
    if (this.#pushes.size > 0) this.#tell({ type: 'channel.opened' });
  }

  #receive(frame: InboundFrame): void {
    this.#router?.send({ type: 'frames.received', frames: [frame] });
  }

  // The two actors of its transport.

  #actors(): TransportActors {
    const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
      this.#router = input.router;
      return { receive: () => {} };
    });
    const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { session } }) => {
      this.#tell = (fact) => session.send(fact);
      // The client opens its first stream later, if ever.
      this.#tell({ type: 'channel.closed' });
      return {
        receive: (event) => {
          if (event.type === 'frames.send') this.#send(event);
          else if (event.type === 'request.dropped') answerOf(event.request)?.drop();
          else session.send({ type: 'output.flushed' });
        },
        stop: () => {
          this.#tell = () => {};
        },
      };
    });
    return { reader, writer };
  }

  #send({ frames, relatedTo, rejected }: FramesToSend): void {
    const answer = answerOf(relatedTo);
    for (const frame of frames) {
      const unserializable: Parameters<typeof encodeFrame>[1] = (message, error) => {
        if ('method' in message) rejected?.(error, message);
      };
      if (answer?.send(frame, unserializable)) continue;
      const text = encodeFrame(frame, unserializable);
      if (!answer && text !== '') this.#pushes.push(text);
    }
  }

  #over(): void {
    this.mcp.shutdown('The session over HTTP has ended');
    this.#pushes.end();
    this.#options.ended(this);
  }
}

function answerOf(request: AnsweredInput | undefined): PostAnswer | undefined {
  return request?.origin instanceof PostAnswer ? request.origin : undefined;
}
