/**
 * The rest of a stream that another node writes, for a client that has come here for it.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { ErrorCode, errorResponse } from '../../protocol/errors.ts';
import type { InboundRequestId, RequestId } from '../../protocol/frames.ts';
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { Followed, StreamEvent } from '../nodes/event-store.ts';
import { eventId } from '../nodes/names.ts';
import type { SinkOwner, WatchedSink } from '../watched-sink.ts';

export interface ResumedStreamHome {
  readonly report: HttpReport;
  /** An event in the place of a response that was dropped. */
  lostAnswer(this: void, id: InboundRequestId): string;
  /** Its connection has ended, or nothing more comes on it. */
  unfollowed(stream: ResumedStream): void;
}

export class ResumedStream implements SinkOwner {
  /** A request that was allowed is answered, however long that takes. */
  readonly admission = undefined;
  readonly #sink: WatchedSink;
  readonly #home: ResumedStreamHome;
  /** The requests whose responses have not been read yet. */
  #due: readonly InboundRequestId[];
  #missed = 0;
  /** Stops following; undefined once it has stopped. */
  #stop: (() => void) | undefined;

  /** @param answers the requests that the stream answers */
  constructor(sink: WatchedSink, home: ResumedStreamHome, answers: readonly InboundRequestId[]) {
    this.#sink = sink;
    this.#home = home;
    this.#due = answers;
    sink.ownedBy(this);
  }

  /** @param stop ends the following */
  begin(firstEvent: string, stop: () => void): void {
    this.#stop = stop;
    if (firstEvent !== '') this.#sink.write(firstEvent);
  }

  /** Takes what the store tells of the stream. */
  take(followed: Followed): void {
    switch (followed.kind) {
      case 'events':
        return this.#repeat(followed.events);
      case 'missed':
        this.#missed += followed.count;
        return this.#sink.write(missedText(followed.count));
      case 'unavailable':
        return;
      case 'ended':
        if (this.#missed > 0) this.#sink.write(this.#due.map(this.#home.lostAnswer).join(''));
        break;
      case 'ownerGone':
        this.#sink.write(followed.unanswered.map(goneAnswer).join(''));
        break;
      case 'unknown':
        this.#sink.write(this.#due.map(this.#home.lostAnswer).join(''));
        break;
    }
    this.#end();
  }

  /** Its connection has ended. */
  left(): void {
    this.#sink.cut();
    this.#leave();
  }

  /** The session ends here. @param retryMs when its client should try another node, if it should */
  close(retryMs: number | undefined): void {
    if (retryMs !== undefined) this.#sink.write(`retry: ${retryMs}\n\n`);
    this.#end();
  }

  expired(): void {}

  unread(why: string): void {
    const message = `The client was cut off from a stream of another node: it ${why}`;
    reportInWords(this.#home.report, 'warning', 'stream.cut', message);
    this.#end();
  }

  #end(): void {
    this.#sink.end();
    this.#leave();
  }

  #leave(): void {
    if (!this.#stop) return;
    this.#stop();
    this.#stop = undefined;
    this.#home.unfollowed(this);
  }

  #repeat(events: readonly StreamEvent[]): void {
    const answered = new Set(events.map(({ answers }) => answers));
    this.#due = this.#due.filter((id) => !answered.has(id));
    this.#sink.write(events.map(textOf).join(''));
  }
}

/** An event as it was sent at first. */
export function textOf(event: StreamEvent): string {
  return `id: ${eventId(event)}\ndata: ${event.text}\n\n`;
}

export function missedText(count: number): string {
  return `: ${count} messages are not kept any more\n\n`;
}

/** Takes the place of a response whose process has ended. */
function goneAnswer(id: RequestId): string {
  const error = {
    code: ErrorCode.serverUnavailable,
    message: 'The process that served this request has ended before it was answered',
    data: { reason: 'process-ended', retryable: true },
  };
  return `data: ${JSON.stringify(errorResponse(id as InboundRequestId, error))}\n\n`;
}
