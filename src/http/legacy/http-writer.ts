/** The writer of a session over HTTP. It is one object: functions would cost every session. */
import type { ActorFactName, Report } from '../../actors/facts.ts';
import { tellUnserializable } from '../../actors/writer/outbound-flow.ts';
import type { HttpSessionView } from '../../actors/writer/http-view.ts';
import type { Behaviour, Ref } from '../../machines/port.ts';
import type { FramesToSend, TransportFact, WriterEvent } from '../../machines/peer-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { Unserializable } from '../../protocol/codec.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { AnsweredInput, OutboundFrame } from '../../protocol/frames.ts';
import type { HttpFactName } from '../facts.ts';
import type { SharedSession } from '../replicas/shared-session.ts';
import { PostAnswer } from './post-answer.ts';
import type { WaitingPush } from './push-streams.ts';
import { sendOnceNoted } from './shared-answers.ts';

/** The session over HTTP, as its writer knows it. */
export interface WrittenSession {
  /** As a dump shows it. */
  readonly view: HttpSessionView;
  readonly report: Report<HttpFactName | ActorFactName>;
  /** The session as other nodes have it; undefined if there are none. */
  readonly share: SharedSession | undefined;
  /** Sends what belongs to no request. */
  push(message: WaitingPush): void;
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
    if (event.type === 'frames.send') this.#send(event);
    else if (event.type === 'output.flush') this.#owner.send({ type: 'output.flushed' });
    else answerOf(event.request)?.drop();
  }

  stop(): void {
    this.#http.unwritable();
  }

  /** Puts frames on the streams that they belong to. */
  #send({ frames, relatedTo, rejected }: FramesToSend): void {
    const { report, share } = this.#http;
    const answer = answerOf(relatedTo);
    const unserializable: Unserializable = (message, error) =>
      tellUnserializable(report, { message, error, rejected });
    for (const frame of frames) {
      if (answer) {
        const noting = share?.noting(answer.frame, frame);
        if (noting) sendOnceNoted(noting, answer, frame, report);
        else if (!answer.send(frame, unserializable)) undelivered(frame, rejected);
        continue;
      }
      // Another node has answered it.
      if (relatedTo?.origin) continue;
      // It says that an answer cannot be read, as the status has said to whoever has posted that:
      // a response is for no stream that belongs to no request.
      if (!('method' in frame)) continue;
      const text = encodeFrame(frame, unserializable);
      if (text === '') continue;
      const dropped = 'id' in frame ? () => undelivered(frame, rejected) : undefined;
      this.#http.push({ text, dropped });
    }
  }
}

/** A frame has no way to the client. If it asks for something, whoever waits for that hears so. */
function undelivered(frame: OutboundFrame, rejected: FramesToSend['rejected']): void {
  if (!('method' in frame)) return;
  const message = `${frame.method} was not sent: the client has no stream that it could go on`;
  rejected?.(new RuntimeError('TRANSPORT_CLOSED', message), frame);
}

/** The answer that a request of the client's waits for. */
function answerOf(request: AnsweredInput | undefined): PostAnswer | undefined {
  return request?.origin instanceof PostAnswer ? request.origin : undefined;
}
