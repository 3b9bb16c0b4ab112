/**
 * The streams that this node writes for a session, as other nodes may repeat them. What cannot be
 * stored is still sent: only a client that goes on at another node misses it, and is told.
 */
import type { InboundRequestId, RequestId } from '../../protocol/frames.ts';
import type { HttpReport } from '../facts.ts';
import type { EventPlace } from '../nodes/names.ts';
import type { Stores } from '../nodes/stores.ts';
import { reportUnavailable } from './unavailable.ts';

/** The node that writes them. */
export interface WritingHome {
  readonly stores: Stores;
  readonly report: HttpReport;
  /** Is waited for before this node leaves. */
  track(done: Promise<unknown>): void;
}

export class ReplicatedEvents {
  readonly #session: string;
  readonly #home: WritingHome;
  #store: 'there' | 'away' = 'there';

  constructor(session: string, home: WritingHome) {
    this.#session = session;
    this.#home = home;
  }

  /** A stream begins. Settles when its client may have the first event. */
  open(stream: string, answers: readonly InboundRequestId[]): Promise<void> {
    return this.#noted(this.#home.stores.events.open(this.#session, stream, answers));
  }

  /** @param text a message, with a line feed at its end */
  append(place: EventPlace, text: string, answers: RequestId | undefined): void {
    const event = { ...place, text: text.trimEnd(), answers };
    void this.#noted(this.#home.stores.events.append(this.#session, event));
  }

  end(last: EventPlace): void {
    void this.#noted(this.#home.stores.events.end(this.#session, last));
  }

  async #noted(done: Promise<void>): Promise<void> {
    this.#home.track(done);
    try {
      await done;
      this.#store = 'there';
    } catch (error) {
      if (this.#store === 'away') return;
      this.#store = 'away';
      const what = `What session ${this.#session} sends is not stored for other nodes`;
      reportUnavailable(this.#home.report, what)(error);
    }
  }
}
