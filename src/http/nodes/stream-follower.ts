import { streamFollowerChart } from '../../machines/stream-follower.machine.ts';
import type { StreamFollowerEvent } from '../../machines/stream-follower.machine.ts';
import type { Followed, Replay } from './event-store.ts';
import { StoreUnavailable } from './stores.ts';

/** What a follower reads from. */
export interface FollowedSource {
  /** What comes after that number. */
  replay(after: number): Promise<Replay>;
  /** Whether the node that writes the stream is alive. */
  isOwnerAlive(): Promise<boolean>;
}

/**
 * Follows a stream that another node writes. It reads when it is told to {@link look}: when
 * something was appended, and from time to time, because the writer may die without a word.
 */
export class StreamFollower {
  readonly #stream: FollowedSource;
  readonly #listener: (followed: Followed) => void;
  #after: number;
  #state = streamFollowerChart.begun;

  constructor(stream: FollowedSource, after: number, listener: (followed: Followed) => void) {
    this.#stream = stream;
    this.#after = after;
    this.#listener = listener;
  }

  get isEnded(): boolean {
    return this.#state.value === 'ended';
  }

  /** Reads what is new. While it reads, another call makes it read once more afterwards. */
  look(): void {
    const isFree = this.#state.matches({ following: { reading: 'waiting' } });
    this.#move('stream.look');
    if (isFree) void this.#read();
  }

  stop(): void {
    this.#move('stream.ended');
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
    this.#move('stream.read');
    if (this.#state.matches({ following: { reading: 'once' } })) void this.#read();
  }

  #move(type: StreamFollowerEvent['type']): void {
    this.#state = streamFollowerChart.next(this.#state, { type });
  }

  #tell({ events, missed, state }: Replay, isOwnerAlive: boolean): void {
    this.#move('store.answered');
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
    const isKnown = this.#state.matches({ following: { store: 'away' } });
    this.#move('store.failed');
    if (fault === 'closed') this.stop();
    if (isKnown) return;
    this.#listener({ kind: 'unavailable', retryAfterMs });
  }
}
