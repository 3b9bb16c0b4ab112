/** What a client is answered once other nodes have, or know, what is theirs. */
import { tellUnserializable } from '../../actors/writer/outbound-flow.ts';
import type { ActorFactName, Report } from '../../actors/facts.ts';
import { errorResponse } from '../../protocol/errors.ts';
import type { InboundFrame, OutboundFrame, WireError } from '../../protocol/frames.ts';
import type { HttpFactName } from '../facts.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { Passed } from '../replicas/passing.ts';
import { unavailable } from '../replicas/unavailable.ts';
import type { PostAnswer } from './post-answer.ts';

interface PassingSession {
  readonly report: Report<HttpFactName | ActorFactName>;
  post(exchange: HttpExchange, frame: InboundFrame): void;
}

/** Answers a message that others have to do with, or goes on with what is for here. */
export function answerPassed(
  exchange: HttpExchange,
  passing: Promise<Passed>,
  session: PassingSession,
): void {
  passing.then(
    (passed) => {
      if (passed.kind === 'rest') session.post(exchange, passed.frame);
      else exchange.answer(passed.answer);
    },
    (error: unknown) => exchange.answer(unavailable(error, session.report)),
  );
}

/** Sends a response once other nodes know what its request has changed; else a fault. */
export function sendOnceNoted(
  noting: Promise<void>,
  answer: PostAnswer,
  frame: OutboundFrame,
  report: PassingSession['report'],
): void {
  const send = (response: OutboundFrame) =>
    answer.send(response, (message, error) =>
      tellUnserializable(report, { message, error, rejected: undefined }),
    );
  noting.then(
    () => send(frame),
    (error: unknown) => {
      const refusal = unavailable(error, report);
      if (answer.isUnbegun) return answer.refuse(refusal);
      const fault = JSON.parse(refusal.body ?? '') as { readonly error: WireError };
      for (const id of answer.answers) send(errorResponse(id, fault.error));
    },
  );
}
