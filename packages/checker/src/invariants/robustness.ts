/**
 * Invariants on input that no client may send. The specification leaves the behaviour open; a good
 * server answers and continues.
 */
import type { JsonObject } from 'mcp-actors';
import { isJsonObject } from 'mcp-actors/internal';
import type { MoveType } from '../move.ts';
import { lateMark } from '../roots-folder.ts';
import { idKey } from '../message.ts';
import type { Trace } from '../trace.ts';
import { survives } from './cancellation.ts';
import { always, broken, held, formatValue, untried } from './invariant.ts';
import type { Clause, Invariant } from './invariant.ts';

const parseError: Clause = {
  page: 'JSON-RPC 2.0',
  heading: '5.1 Error object',
  quote: '-32700: Parse error. Invalid JSON was received by the server.',
};

const invalidRequest: Clause = {
  page: 'JSON-RPC 2.0',
  heading: '5.1 Error object',
  quote: '-32600: Invalid Request. The JSON sent is not a valid Request object.',
};

const strayAnswer: Clause = {
  page: 'basic/utilities/cancellation',
  heading: 'Behavior Requirements',
  quote:
    'The sender of the cancellation notification SHOULD ignore any response to the request that arrives afterward',
};

export const robustnessInvariants: readonly Invariant[] = [
  rejectsWith(
    'malformed',
    'parse-error',
    'A line that is not JSON is answered with -32700.',
    -32700,
    parseError,
  ),
  survivesMove(
    'malformed',
    'parse-error-survived',
    'A line that is not JSON has no other effect.',
    parseError,
  ),
  rejectsWith(
    'invalid',
    'invalid-request',
    'JSON that is not a message is answered with -32600.',
    -32600,
    invalidRequest,
  ),
  survivesMove(
    'invalid',
    'invalid-request-survived',
    'JSON that is not a message has no other effect.',
    invalidRequest,
  ),
  survivesMove(
    'answer-twice',
    'second-answer-survived',
    'A second answer to a request of the server is harmless.',
    strayAnswer,
    'a server that queries the roots after initialized',
  ),
  survivesMove(
    'answer-unknown',
    'stray-answer-survived',
    'An answer to a request never sent is harmless.',
    strayAnswer,
  ),
  {
    id: 'late-answer-ignored',
    title: 'An answer that arrives after the server’s cancellation is ignored.',
    demanded: always('SHOULD', strayAnswer.page, strayAnswer.heading, strayAnswer.quote),
    needs:
      'a server that cancels one of its requests, when roots change during the query or when the call behind the request is cancelled: name such a tool with --call',
    judge: ({ whole }) => {
      const [first] = whole.places('answer-late');
      if (first === undefined || !isOnlyImpoliteMove(whole, 'answer-late')) return untried;
      const later = whole.serverMessages.filter(({ at }) => at > first);
      const user = later.find(({ message }) => usesLateAnswer(message));
      if (user) return broken(`Content of the late answer was used: ${formatValue(user.message)}`);
      const stray = later.find(
        ({ message }) => !('method' in message) && !whole.clientRequests.has(idKey(message['id'])),
      );
      return stray
        ? broken(`It was answered: ${formatValue(stray.message)}`)
        : survives(whole, [first]);
    },
  },
];

function survivesMove(
  move: MoveType,
  id: string,
  title: string,
  clause: Clause,
  needs = `the move ${move}`,
): Invariant {
  return {
    id,
    title,
    demanded: always('advice', clause.page, clause.heading, clause.quote),
    needs,
    judge: ({ whole }) =>
      isOnlyImpoliteMove(whole, move) ? survives(whole, whole.places(move)) : untried,
  };
}

function rejectsWith(
  move: MoveType,
  id: string,
  title: string,
  code: number,
  clause: Clause,
): Invariant {
  return {
    id,
    title,
    demanded: always('advice', clause.page, clause.heading, clause.quote),
    needs: `a server that continues after the move ${move}`,
    judge: ({ whole }) => {
      const [first] = whole.places(move);
      if (first === undefined || !isOnlyImpoliteMove(whole, move) || !whole.settled?.ok)
        return untried;
      const answer = whole.responses.find(({ message, at }) => {
        const { error } = message;
        return at > first && isJsonObject(error) && error['code'] === code;
      });
      return answer
        ? held
        : broken(`No error with the code ${code} arrived; ${lastMessage(whole)}`);
    },
  };
}

function isOnlyImpoliteMove(trace: Trace, move: MoveType): boolean {
  const others = trace.happenings.some(
    (one) => one.kind === 'sent' && one.impolite && one.move !== move,
  );
  return trace.places(move).length > 0 && !others;
}

/** A log message may mention an answer that the server ignores. */
function usesLateAnswer(message: JsonObject): boolean {
  const { result, params } = message;
  return JSON.stringify('id' in message ? (result ?? params ?? null) : null).includes(lateMark);
}

function lastMessage({ serverMessages }: Trace): string {
  const last = serverMessages.at(-1);
  return last ? `the last message was ${formatValue(last.message)}` : 'nothing arrived';
}
