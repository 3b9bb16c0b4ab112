/** Invariants on cancellation: required effects and forbidden ones. */
import { Method, isJsonObject } from 'mcp-actors/internal';
import { idKey } from '../message.ts';
import { formatExit } from '../trace.ts';
import type { Trace } from '../trace.ts';
import { always, broken, firstBroken, held, formatValue, silent, untried } from './invariant.ts';
import type { Invariant, Judgement } from './invariant.ts';

const page = 'basic/utilities/cancellation';

const notAnswered = always(
  'SHOULD',
  page,
  'Behavior Requirements',
  'Receivers of cancellation notifications SHOULD: […] Not send a response for the cancelled request',
);

const stillRuns =
  'a tool that takes a second or so, while the server answers a ping: name one with --call';

export const cancellationInvariants: readonly Invariant[] = [
  {
    id: 'cancelled-silent',
    title: 'A call cancelled in flight is not answered.',
    demanded: notAnswered,
    needs: stillRuns,
    judge: ({ polite }) => firstBroken(cancellations(polite, (id) => id !== 0)),
  },
  {
    id: 'cancelled-zero',
    title: 'A call with the id 0 cancelled in flight is not answered.',
    demanded: notAnswered,
    needs: stillRuns,
    judge: ({ polite }) => firstBroken(cancellations(polite, (id) => id === 0)),
  },
  {
    id: 'cancel-race',
    title: 'A cancellation that crosses or follows the answer is harmless.',
    demanded: always(
      'MUST',
      page,
      'Timing Considerations',
      'cancellation notifications may arrive after request processing has completed, and potentially after a response has already been sent. Both parties MUST handle these race conditions gracefully',
    ),
    needs: 'a cancellation of a request in flight or already answered',
    judge: ({ polite }) =>
      survives(polite, [...polite.places('cancel'), ...polite.places('cancel-done')]),
  },
  {
    id: 'invalid-cancel-ignored',
    title: 'A cancellation of an unknown or malformed request is ignored.',
    demanded: always(
      'SHOULD',
      page,
      'Error Handling',
      'Invalid cancellation notifications SHOULD be ignored: Unknown request IDs; Already completed requests; Malformed notifications',
    ),
    needs: 'a cancellation of an unknown request',
    judge: ({ whole }) => {
      // Other impolite moves would be judged as well.
      const others = whole.happenings.some(
        (one) => one.kind === 'sent' && one.impolite && !one.move?.startsWith('cancel-'),
      );
      const places = [...whole.places('cancel-unknown'), ...whole.places('cancel-malformed')];
      const [first] = places.sort((a, b) => a - b);
      if (others || first === undefined) return untried;
      const stray = whole.responses.find(
        ({ message, at }) => at > first && !whole.clientRequests.has(idKey(message['id'])),
      );
      return stray
        ? broken(`It was answered: ${formatValue(stray.message)}`)
        : survives(whole, places);
    },
  },
  {
    id: 'cancels-its-own',
    title: 'The server only cancels its own requests.',
    demanded: always(
      'MUST',
      page,
      'Behavior Requirements',
      'Cancellation notifications MUST only reference requests that: Were previously issued in the same direction',
    ),
    needs: 'a server that cancels one of its own requests',
    judge: ({ whole }) =>
      firstBroken(
        whole.notifications(Method.cancelled).map(({ message, at }) => {
          const params = message['params'];
          const id = isJsonObject(params) ? params['requestId'] : undefined;
          const own = whole.requests.some(
            (request) => request.at < at && request.message['id'] === id,
          );
          return own ? held : broken(`The server never sent this request: ${formatValue(message)}`);
        }),
      ),
  },
];

/**
 * Judges each call that was certainly in flight when cancelled: between call and cancellation, the
 * server answered a ping but not the call.
 */
function cancellations(trace: Trace, concerns: (id: unknown) => boolean): readonly Judgement[] {
  return trace.of('call', 'call-zero').flatMap((asked) => {
    const cancelledAt = trace.cancelled.get(idKey(asked.id));
    if (cancelledAt === undefined || !concerns(asked.id)) return [];
    const wasRunning = trace.waitedBetween(asked.at, cancelledAt);
    const answer = trace.answersTo(asked.id)[0];
    if (!wasRunning || (answer && answer.at < cancelledAt)) return [];
    // An answer before the next pong may have been on its way already.
    if (answer) {
      return trace.waitedBetween(cancelledAt, answer.at)
        ? [
            broken(
              `The call with the id ${idKey(asked.id)} was cancelled, and answered later: ${formatValue(answer.message)}`,
            ),
          ]
        : [];
    }
    const twin = [...trace.clientRequests.values()].find(
      ({ at, params }) => at > cancelledAt && params['name'] === asked.params['name'],
    );
    return twin && trace.answersTo(twin.id).length > 0 ? [held] : [];
  });
}

/**
 * True if the server had answered everything at the end.
 * @param places positions the server survived, if nothing had failed before
 */
export function survives(trace: Trace, places: readonly number[]): Judgement {
  const first = Math.min(...places);
  const { happenings, earlyEnd, settled, cancelled } = trace;
  const hadFailed = happenings
    .slice(0, first)
    .some((one) => one.kind === 'ended' || (one.kind === 'waited' && !one.ok));
  if (places.length === 0 || hadFailed) return untried;
  if (earlyEnd) return broken(`The server ended ${formatExit(earlyEnd.exit)}`);
  if (!settled) return untried;
  if (settled.ok) return held;
  // Earlier requests may be unanswered for another reason.
  const owed = [...trace.clientRequests.values()].some(
    ({ id, at }) => at < first && !cancelled.has(idKey(id)) && trace.answersTo(id).length === 0,
  );
  return owed ? untried : silent('Afterwards, not everything was answered in time');
}
