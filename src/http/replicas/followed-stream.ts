/**
 * The rest of a stream that another node writes, for a client that has come here for it.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../actors/clock.ts';
import { ErrorCode, errorResponse } from '../../protocol/errors.ts';
import type { InboundRequestId, RequestId } from '../../protocol/frames.ts';
import { tell } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { EventSink } from '../http-exchange.ts';
import type { Followed, StreamEvent } from '../nodes/event-store.ts';
import { eventId } from '../nodes/names.ts';
import type { HttpLimits } from '../options.ts';
import { unlisted } from '../roster.ts';
import type { Tended } from '../upkeep.ts';

export interface FollowingHome {
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly report: HttpReport;
  /** An event in the place of a response that is not kept any more. */
  lostAnswer(this: void, id: InboundRequestId): string;
  /** Its connection has ended, or nothing more comes on it. */
  unfollowed(stream: FollowedStream): void;
}

export class FollowedStream implements Tended {
  place = unlisted;
  readonly #sink: EventSink;
  readonly #home: FollowingHome;
  /** The requests whose responses have not been read yet. */
  #due: readonly InboundRequestId[];
  #missed = 0;
  /** Stops following; undefined once it has stopped. */
  #stop: (() => void) | undefined;
  #spokenAt: number;

  /** @param answers the requests that the stream answers */
  constructor(sink: EventSink, home: FollowingHome, answers: readonly InboundRequestId[]) {
    this.#sink = sink;
    this.#home = home;
    this.#due = answers;
    this.#spokenAt = home.clock.now();
  }

  /** @param stop ends the following */
  begin(firstEvent: string, stop: () => void): void {
    this.#stop = stop;
    if (firstEvent !== '') this.#write(firstEvent);
  }

  /** Takes what the store tells of the stream. */
  take(followed: Followed): void {
    switch (followed.kind) {
      case 'events':
        return this.#repeat(followed.events);
      case 'missed':
        this.#missed += followed.count;
        return this.#write(missedText(followed.count));
      case 'unavailable':
        return;
      case 'ended':
        if (this.#missed > 0) this.#write(this.#due.map(this.#home.lostAnswer).join(''));
        break;
      case 'ownerGone':
        this.#write(followed.unanswered.map(goneAnswer).join(''));
        break;
      case 'unknown':
        this.#write(this.#due.map(this.#home.lostAnswer).join(''));
        break;
    }
    this.#sink.end();
    this.leave();
  }

  /** Its connection has ended. */
  leave(): void {
    if (!this.#stop) return;
    this.#stop();
    this.#stop = undefined;
    this.#home.unfollowed(this);
  }

  tend(now: number): void {
    const { keepaliveIntervalMs, maxUnreadBytes } = this.#home.limits;
    const unread = this.#sink.untakenBytes;
    if (unread > maxUnreadBytes) {
      const message = `The client was cut off from a stream of another node: it has not read ${unread} bytes`;
      tell(this.#home.report, 'warning', 'stream.cut', message);
      this.#sink.cut();
      return this.leave();
    }
    if (keepaliveIntervalMs > 0 && now - this.#spokenAt >= keepaliveIntervalMs)
      this.#write(':\n\n');
  }

  #repeat(events: readonly StreamEvent[]): void {
    const answered = new Set(events.map(({ answers }) => answers));
    this.#due = this.#due.filter((id) => !answered.has(id));
    this.#write(events.map(textOf).join(''));
  }

  #write(text: string): void {
    this.#spokenAt = this.#home.clock.now();
    if (text !== '') this.#sink.write(text);
  }
}

/** An event as it was sent at first. */
export function textOf(event: StreamEvent): string {
  return `id: ${eventId(event)}\ndata: ${event.text}\n\n`;
}

export function missedText(count: number): string {
  return `: ${count} messages are not kept any more\n\n`;
}

/** Stands in the place of a response that no process is at work on any more. */
function goneAnswer(id: RequestId): string {
  const error = {
    code: ErrorCode.serverUnavailable,
    message: 'The process that served this request has ended before it was answered',
    data: { reason: 'process-ended', retryable: true },
  };
  return `data: ${JSON.stringify(errorResponse(id as InboundRequestId, error))}\n\n`;
}
