import type { Followed, Replay } from './event-store.ts';
import { StoreUnavailable } from './store-unavailable.ts';

/** What a follower reads from. */
export interface FollowedStream {
  /** What comes after that number. */
  replay(after: number): Promise<Replay>;
  /** Whether the node that writes the stream is alive. */
  isOwnerAlive(): Promise<boolean>;
}

type FollowingState = 'waiting' | 'looking' | 'lookingAgain' | 'ended';

/**
 * Follows a stream that another node writes. It reads when it is told to {@link look}: when
 * something was appended, and from time to time, because the writer may die without a word.
 */
export class Following {
  readonly #stream: FollowedStream;
  readonly #listener: (followed: Followed) => void;
  #after: number;
  #state: FollowingState = 'waiting';
  #store: 'there' | 'away' = 'there';

  constructor(stream: FollowedStream, after: number, listener: (followed: Followed) => void) {
    this.#stream = stream;
    this.#after = after;
    this.#listener = listener;
  }

  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Reads what is new. While it reads, another call makes it read once more afterwards. */
  look(): void {
    if (this.#state === 'looking') this.#state = 'lookingAgain';
    if (this.#state !== 'waiting') return;
    this.#state = 'looking';
    void this.#read();
  }

  stop(): void {
    this.#state = 'ended';
  }

  async #read(): Promise<void> {
    try {
      // In this order: what a node has appended before it died is read after its death is known.
      const isOwnerAlive = await this.#stream.isOwnerAlive();
      const replay = await this.#stream.replay(this.#after);
      if (!this.isEnded) this.#tell(replay, isOwnerAlive);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (!this.isEnded) this.#tellAway(error);
    }
    const again = this.#state === 'lookingAgain';
    if (this.isEnded) return;
    this.#state = 'waiting';
    if (again) this.look();
  }

  #tell({ events, missed, state }: Replay, isOwnerAlive: boolean): void {
    this.#store = 'there';
    this.#after += missed + events.length;
    if (missed > 0) this.#listener({ kind: 'missed', count: missed });
    if (events.length > 0) this.#listener({ kind: 'events', events });
    if (state.kind === 'open' && isOwnerAlive) return;
    // A listener may have stopped it.
    if (this.isEnded) return;
    this.stop();
    this.#listener(
      state.kind === 'open' ? { kind: 'ownerGone', unanswered: state.unanswered } : state,
    );
  }

  #tellAway({ fault, retryAfterMs }: StoreUnavailable): void {
    if (fault === 'closed') this.stop();
    if (this.#store === 'away') return;
    this.#store = 'away';
    this.#listener({ kind: 'unavailable', retryAfterMs });
  }
}
