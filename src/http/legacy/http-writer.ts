/** The writer of a session over HTTP. It is one object: functions would cost every session. */
import type { HttpSessionView } from '../../actors/writer/http-view.ts';
import type { Behaviour, Ref } from '../../machines/port.ts';
import type { FramesToSend, TransportFact, WriterEvent } from '../../machines/peer-ports.ts';
import type { AnsweredInput } from '../../protocol/frames.ts';
import { PostAnswer } from './post-answer.ts';

/** The session over HTTP, as its writer knows it. */
export interface WrittenSession {
  /** As a dump shows it. */
  readonly view: HttpSessionView;
  /** Puts frames on the streams that they belong to. */
  send(frames: FramesToSend): void;
  /** Its writer has stopped. */
  unwritable(): void;
}

export class HttpWriter implements Behaviour<WriterEvent> {
  readonly #http: WrittenSession;
  readonly #owner: Ref<TransportFact>;

  /** @param session the actor that hears when everything is sent */
  constructor(http: WrittenSession, owner: Ref<TransportFact>) {
    this.#http = http;
    this.#owner = owner;
  }

  get view(): { readonly http: HttpSessionView } {
    return { http: this.#http.view };
  }

  receive(event: WriterEvent): void {
    if (event.type === 'frames.send') this.#http.send(event);
    else if (event.type === 'output.flush') this.#owner.send({ type: 'output.flushed' });
    else if (event.request.id === undefined) answerOf(event.request)?.accept();
    else answerOf(event.request)?.drop();
  }

  stop(): void {
    this.#http.unwritable();
  }
}

/** The answer that a request of the client's waits for. */
export function answerOf(request: AnsweredInput | undefined): PostAnswer | undefined {
  return request?.origin instanceof PostAnswer ? request.origin : undefined;
}
