/**
 * A client comes back for a stream that this node does not have: what another node has said on it,
 * or says yet.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { InboundRequestId } from '../../protocol/frames.ts';
import { fault } from '../checks.ts';
import type { HttpExchange } from '../http-exchange.ts';
import type { Followed } from '../nodes/event-store.ts';
import { eventId, writerOf } from '../nodes/names.ts';
import { streamHeaders } from '../answers.ts';
import { ResumedStream, missedText, textOf } from './resumed-stream.ts';
import type { ResumedStreamHome } from './resumed-stream.ts';
import type { ReplicatedSession } from './replicated-session.ts';
import { reportUnavailable, unavailable } from './unavailable.ts';

export interface SoughtPlace {
  readonly stream: string;
  readonly number: number;
  /** The requests that the stream answers; undefined if it is for what belongs to none. */
  readonly answers: readonly InboundRequestId[] | undefined;
}

/** The streams of the session at this node. */
export interface ResumingHome extends ResumedStreamHome {
  firstEvent(lastId: string): string;
  /** It has a connection from now on. */
  followed(stream: ResumedStream): void;
  /**
   * Opens a stream at this node for what belongs to no request.
   * @param repeated what comes before its own events
   */
  goOn(exchange: HttpExchange, repeated: string): void;
}

/** Goes on with a stream of another node, or with one that this node has forgotten. */
export function resumeElsewhere(
  exchange: HttpExchange,
  place: SoughtPlace,
  session: ReplicatedSession,
  home: ResumingHome,
): void {
  seek(exchange, place, session, home).catch((error: unknown) => {
    exchange.answer(unavailable(error, home.report));
  });
}

async function seek(
  exchange: HttpExchange,
  { stream, number, answers }: SoughtPlace,
  session: ReplicatedSession,
  home: ResumingHome,
): Promise<void> {
  const { node, events, mailbox } = session.home.stores;
  const { id } = session;
  const owner = writerOf(stream);
  if (owner !== node) {
    // It writes to the connection that the client has left, as long as it does not know. It may
    // have died, without anybody knowing yet.
    const told = mailbox
      .send(owner, { kind: 'resumed', session: id, stream })
      .catch(reportUnavailable(home.report, 'A node was not told that its stream goes on here'));
    // What it writes to its log from now on goes on the stream that is opened here.
    if (answers === undefined) await told;
  }
  const place = { stream, number };
  const replay = await events.replay(id, place);
  if (exchange.isGone) return;
  const { state, missed } = replay;
  if (answers === undefined) {
    const told = missed > 0 ? missedText(missed) : '';
    return home.goOn(exchange, [told, ...replay.events.map(textOf)].join(''));
  }
  if (state.kind === 'ended' && missed === 0 && replay.events.length === 0) {
    return exchange.answer(nothingToResume);
  }
  const following = new ResumedStream(exchange.stream(streamHeaders), home, answers);
  exchange.onGone(() => following.left());
  home.followed(following);
  const first = home.firstEvent(eventId(place));
  const listener = (followed: Followed) => following.take(followed);
  if (owner !== node || state.kind !== 'open') {
    return following.begin(first, events.follow(id, place, listener));
  }
  // A stream that this node has forgotten, and does not go on with.
  following.begin(first, () => {});
  following.take({ kind: 'events', events: replay.events });
  following.take({ kind: 'ownerGone', unanswered: state.unanswered });
}

/**
 * All is said on that stream, and the client has it all. A client that asks again would ask for ever
 * if it got an empty stream.
 */
export const nothingToResume = fault(405, 'This stream has ended: there is nothing more on it', {
  allow: 'GET, POST, DELETE',
});
