/**
 * The requests of the modern era. All of them are served by one session per server: no request has
 * an actor system of its own, and nothing of one is seen by another.
 *
 * @see MCP 2026-07-28, basic/transports, "Streamable HTTP"
 */
import type { Port, Ref } from '../../machines/port.ts';
import { plainActor } from '../../machines/port.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../machines/session-ports.ts';
import { errorResponse } from '../../protocol/errors.ts';
import type { InboundFrame, InboundRequest } from '../../protocol/frames.ts';
import type { ServedHttpRequest } from '../../protocol/request-origin.ts';
import type { McpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import type { TransportActors } from '../../transports/transport.ts';
import { fault } from '../checks.ts';
import { servedRequest } from '../http-exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { Served } from '../options.ts';
import { ModernAnswer } from './modern-answer.ts';

export class ModernRequests {
  readonly #servedTo: (request: ServedHttpRequest) => Served;
  readonly #services = new Map<McpServer, Service>();

  constructor(servedTo: (request: ServedHttpRequest) => Served) {
    this.#servedTo = servedTo;
  }

  /** The sessions that are open, one per server. */
  get open(): readonly McpSession[] {
    return [...this.#services.values()].map(({ session }) => session);
  }

  post(exchange: HttpExchange, frame: InboundFrame): void {
    switch (frame.kind) {
      case 'request':
        return this.#request(exchange, frame);
      case 'invalid': {
        const body = JSON.stringify(errorResponse(frame.id, frame.error));
        return exchange.answer({ status: 400, headers: json, body });
      }
      case 'notification':
      case 'response':
      case 'stray-error':
        // Nothing that is in flight is anybody else's to end, and nothing was asked.
        return exchange.answer({ status: 202 });
      case 'batch':
        return exchange.answer(fault(400, 'A POST holds one message, not a batch'));
    }
  }

  async close(drainTimeoutMs?: number): Promise<void> {
    const services = [...this.#services.values()];
    await Promise.all(services.map((service) => service.close(drainTimeoutMs)));
  }

  #request(exchange: HttpExchange, request: InboundRequest): void {
    const answer = new ModernAnswer(exchange, { idScope: 'request' }, 0);
    this.#serviceFor(exchange).serve(exchange, { ...request, origin: answer }, answer);
  }

  #serviceFor(exchange: HttpExchange): Service {
    const { server, session } = this.#servedTo(servedRequest(exchange));
    let service = this.#services.get(server);
    if (!service) {
      service = new Service(server, session);
      this.#services.set(server, service);
    }
    return service;
  }
}

const json = { 'content-type': 'application/json' };

/** The session that serves such requests of one server. Its transport is the endpoint. */
class Service {
  readonly session: McpSession;
  #router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;

  constructor(server: McpServer, options: Parameters<McpServer['listen']>[1]) {
    this.session = server.listen(() => this.#actors(), options);
  }

  serve(exchange: HttpExchange, request: InboundRequest, answer: ModernAnswer): void {
    const { id } = request;
    exchange.onGone(() => {
      answer.leave();
      const reason = 'The client has closed the connection';
      this.#router?.send({ type: 'request.gone', request: { id, origin: answer }, reason });
    });
    this.#router?.send({ type: 'frames.received', frames: [request] });
  }

  async close(drainTimeoutMs?: number): Promise<void> {
    this.session.shutdown('The server is closing', drainTimeoutMs);
    await this.session.closed;
  }

  #actors(): TransportActors {
    const reader: Port<ReaderEvent, ReaderInput> = plainActor(({ input }) => {
      this.#router = input.router;
      return { receive: () => {} };
    });
    const writer: Port<WriterEvent, WriterInput> = plainActor(({ input: { session } }) => ({
      receive: (event) => {
        if (event.type === 'frames.send') this.#send(event);
        else if (event.type === 'request.dropped') answerOf(event.request)?.drop();
        else session.send({ type: 'output.flushed' });
      },
    }));
    return { reader, writer };
  }

  #send({ frames, relatedTo, rejected }: FramesToSend): void {
    const answer = answerOf(relatedTo);
    for (const frame of frames) {
      answer?.send(frame, (message, error) => {
        if ('method' in message) rejected?.(error, message);
      });
    }
  }
}

function answerOf(request: FramesToSend['relatedTo']): ModernAnswer | undefined {
  return request?.origin instanceof ModernAnswer ? request.origin : undefined;
}
