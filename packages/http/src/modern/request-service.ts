/**
 * Serves the requests of all clients of one server that keep no session: one session actor for all
 * of them, whose transport is the endpoint. No request has an actor system of its own, and nothing
 * of one is seen by another.
 */
import type { HttpRequestsView } from '../../../../src/actors/writer/http-view.ts';
import type { FramesToSend } from '../../../../src/machines/peer-ports.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { encodeFrame } from '../../../../src/protocol/codec.ts';
import { errorResponse, shuttingDown } from '../../../../src/protocol/errors.ts';
import { withOrigin } from '../../../../src/protocol/frames.ts';
import type {
  AnsweredInput,
  InboundBatch,
  InboundRequest,
} from '../../../../src/protocol/frames.ts';
import type { ListenOptions, McpServer } from '../../../../src/server/create-server.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { Quotas } from '../../../../src/actors/room.ts';
import { describeEnd } from '../admission.ts';
import type { TokenEnd } from '../admission.ts';
import { EndpointSession } from '../endpoint-session.actor.ts';
import { formatReport } from '../facts.ts';
import type { EndpointHome } from '../request-authorization.ts';
import type { HttpLimits } from '../options.ts';
import { IndexedList } from '../maintenance.ts';
import { StatelessAnswer } from '../answers.ts';
import type { AnswerKeeper } from '../answers.ts';

export interface RequestServiceOptions {
  readonly home: EndpointHome;
  /** False if every answer is JSON. */
  readonly streams: boolean;
  /** It has ended. */
  readonly ended: () => void;
}

export class RequestService extends EndpointSession implements AnswerKeeper {
  readonly server: McpServer;
  readonly limits: HttpLimits;
  readonly streams: boolean;
  readonly session: McpSession;
  readonly #home: EndpointHome;
  /** How many requests and batches have come. */
  #served = 0;
  /** The answers that clients wait for. */
  readonly #due = new IndexedList<StatelessAnswer>();
  /** How long nothing was due, milliseconds. */
  #idleMs = 0;

  constructor(server: McpServer, listening: ListenOptions, options: RequestServiceOptions) {
    super();
    this.server = server;
    this.#home = options.home;
    this.limits = options.home.limits;
    this.streams = options.streams;
    const shares = new Quotas(options.home.room);
    this.session = server.listen(({ report }) => this.actors(report, shares), {
      ...listening,
      onEmitted: (event) => {
        listening.onEmitted?.(event);
        if (event.type !== 'session.closed') return;
        this.#refuseDue();
        options.ended();
      },
    });
  }

  get node(): string | undefined {
    return this.#home.node;
  }

  /** True while a client waits for something. */
  get isBusy(): boolean {
    return this.#due.size > 0;
  }

  /** True if a client may come back to something: a task, or a call that waits for its answers. */
  get isKeeping(): boolean {
    const { calls, tasks } = this.session.dump();
    return calls.length > 0 || tasks.length > 0;
  }

  /** How long nothing was due, milliseconds. */
  get idleMs(): number {
    return this.#idleMs;
  }

  /** Serves a request or a batch. @param answer also its origin */
  serve(frame: InboundRequest | InboundBatch, answer: StatelessAnswer): void {
    if (!answer.isDue) return;
    this.#idleMs = 0;
    this.#served++;
    this.#due.add(answer);
    this.router.send({ type: 'frames.received', frames: [withOrigin(frame, answer)] });
  }

  /** Time has passed: see {@link StatelessAnswer.passed}. */
  passed(elapsedMs: number): void {
    if (!this.isBusy) this.#idleMs += elapsedMs;
    this.#due.each((answer) => answer.passed(elapsedMs));
  }

  /** Ends when what is in flight is drained. */
  async close(reason: string, drainTimeoutMs?: number): Promise<void> {
    this.session.shutdown(reason, drainTimeoutMs);
    await this.session.closed;
  }

  // What its answers tell.

  answerEnded(answer: StatelessAnswer): void {
    this.#due.delete(answer);
  }

  answerLeft(answer: StatelessAnswer, reason: string): void {
    this.#due.delete(answer);
    const { id } = answer;
    if (!answer.isCancelledByLeaving || id === undefined) return;
    this.router.send({ type: 'request.gone', request: { id, origin: answer }, reason });
  }

  authorizationEnded({ id }: StatelessAnswer, end: TokenEnd): void {
    const message = `The token that ${inspectValue(id)} was asked for with ${describeEnd[end]}: its client has to ask again with another one`;
    formatReport(this.report, 'info', `authorization.${end}`, message);
  }

  get view(): HttpRequestsView {
    const due = this.#due.all;
    const dueOf: { [principal: string]: number } = {};
    for (const { principal } of due) {
      if (principal) dueOf[principal.id] = (dueOf[principal.id] ?? 0) + 1;
    }
    const streams = due.flatMap(({ view }) => view ?? []);
    return { kind: 'requests', served: this.#served, due: due.length, streams, dueOf };
  }

  /** What belongs to no request has nowhere to go: there is no session that it could be said to. */
  send(event: FramesToSend): void {
    const { frames, relatedTo } = event;
    const answer = answerOf(relatedTo);
    if (!answer) return;
    for (const frame of frames) {
      const text = encodeFrame(frame, (message, error) =>
        this.unserializable(message, error, event),
      );
      if (text !== '') answer.send(frame, text);
    }
  }

  override drop(request: AnsweredInput): void {
    answerOf(request)?.drop();
  }

  /** The session has ended, and these were not answered: it has failed. */
  #refuseDue(): void {
    this.#due.each((answer) => {
      const response = errorResponse(answer.id, shuttingDown);
      answer.send(
        response,
        encodeFrame(response, () => {}),
      );
    });
  }
}

function answerOf(request: FramesToSend['relatedTo']): StatelessAnswer | undefined {
  const origin = request?.origin?.batch ?? request?.origin;
  return origin instanceof StatelessAnswer ? origin : undefined;
}
