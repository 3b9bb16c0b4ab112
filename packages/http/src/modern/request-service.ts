/**
 * Serves the sessionless requests of all clients of one server with a single session actor, whose
 * transport is the endpoint. Requests have no actor system of their own and do not see each other.
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
import { Quotas } from '../../../../src/actors/memory-budget.ts';
import { describeEnd } from '../token-validity.ts';
import type { TokenEnd } from '../token-validity.ts';
import { EndpointSession } from '../endpoint-session.actor.ts';
import { formatReport } from '../facts.ts';
import type { EndpointContext } from '../request-authorization.ts';
import type { HttpLimits } from '../options.ts';
import { IndexedList } from '../maintenance.ts';
import { StatelessAnswer } from '../answers.ts';
import type { StatelessAnswerOwner } from '../answers.ts';

export interface RequestServiceOptions {
  readonly endpoint: EndpointContext;
  /** False if every response is JSON. */
  readonly streams: boolean;
  /** Called once the service has ended. */
  readonly ended: () => void;
}

export class RequestService extends EndpointSession implements StatelessAnswerOwner {
  readonly server: McpServer;
  readonly limits: HttpLimits;
  readonly streams: boolean;
  readonly session: McpSession;
  readonly #endpoint: EndpointContext;
  /** Number of requests and batches received. */
  #served = 0;
  /** Answers that clients are waiting for. */
  readonly #pending = new IndexedList<StatelessAnswer>();
  /** Time without pending answers, milliseconds. */
  #idleMs = 0;

  constructor(server: McpServer, listening: ListenOptions, options: RequestServiceOptions) {
    super();
    this.server = server;
    this.#endpoint = options.endpoint;
    this.limits = options.endpoint.limits;
    this.streams = options.streams;
    const quotas = new Quotas(options.endpoint.memory);
    this.session = server.listen(({ report }) => this.actors(report, quotas), {
      ...listening,
      onEmitted: (event) => {
        listening.onEmitted?.(event);
        if (event.type !== 'session.closed') return;
        this.#rejectPending();
        options.ended();
      },
    });
  }

  get node(): string | undefined {
    return this.#endpoint.node;
  }

  /** True while answers are pending. */
  get isBusy(): boolean {
    return this.#pending.size > 0;
  }

  /** True if a client may come back to a task or a suspended call. */
  get isResumable(): boolean {
    const { calls, tasks } = this.session.dump();
    return calls.length > 0 || tasks.length > 0;
  }

  /** Time without pending answers, milliseconds. */
  get idleMs(): number {
    return this.#idleMs;
  }

  /**
   * Serves a request or a batch.
   *
   * @param answer its answer and origin
   */
  serve(frame: InboundRequest | InboundBatch, answer: StatelessAnswer): void {
    if (!answer.isPending) return;
    this.#idleMs = 0;
    this.#served++;
    this.#pending.add(answer);
    this.router.send({ type: 'frames.received', frames: [withOrigin(frame, answer)] });
  }

  /** Advances the clocks of all answers: see {@link StatelessAnswer.advance}. */
  advance(elapsedMs: number): void {
    if (!this.isBusy) this.#idleMs += elapsedMs;
    this.#pending.forEach((answer) => answer.advance(elapsedMs));
  }

  /** Resolves once requests in flight are drained. */
  async close(reason: string, drainTimeoutMs?: number): Promise<void> {
    this.session.shutdown(reason, drainTimeoutMs);
    await this.session.closed;
  }

  // Callbacks of the answers.

  onAnswerEnded(answer: StatelessAnswer): void {
    this.#pending.delete(answer);
  }

  onAnswerAborted(answer: StatelessAnswer, reason: string): void {
    this.#pending.delete(answer);
    const { id } = answer;
    if (!answer.cancelsOnDisconnect || id === undefined) return;
    this.router.send({ type: 'request.gone', request: { id, origin: answer }, reason });
  }

  onTokenEnded({ id }: StatelessAnswer, end: TokenEnd): void {
    const message = `The token of the request ${inspectValue(id)} ${describeEnd[end]}: its client must repeat it with another one`;
    formatReport(this.report, 'info', `authorization.${end}`, message);
  }

  get view(): HttpRequestsView {
    const due = this.#pending.all;
    const dueOf: { [principal: string]: number } = {};
    for (const { principal } of due) {
      if (principal) dueOf[principal.id] = (dueOf[principal.id] ?? 0) + 1;
    }
    const streams = due.flatMap(({ view }) => view ?? []);
    return { kind: 'requests', served: this.#served, due: due.length, streams, dueOf };
  }

  /**
   * Sends frames with the request they belong to. Others are dropped, as there is no session to
   * send them to.
   */
  send(event: FramesToSend): void {
    const { frames, relatedTo } = event;
    const answer = answerOf(relatedTo);
    if (!answer) return;
    for (const frame of frames) {
      const text = encodeFrame(frame, (message, error) =>
        this.reportUnserializable(message, error, event),
      );
      if (text !== '') answer.send(frame, text);
    }
  }

  override drop(request: AnsweredInput): void {
    answerOf(request)?.drop();
  }

  /** Fails the answers left over when the session fails. */
  #rejectPending(): void {
    this.#pending.forEach((answer) => {
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
