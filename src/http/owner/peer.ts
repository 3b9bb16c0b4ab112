/** Another node: what it is told, in order, and what this node does for it and it for this one. */
import { onceAtPassEnd } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import type { Stores } from '../nodes/stores.ts';
import type { Letter } from './letters.ts';

/** A request that was handed to it. */
export interface Handed {
  readonly pipe: string;
  /** Where the request is in its inbox. */
  inboxPlace: string | undefined;
  /** A part of the answer. */
  part(letter: Extract<Letter, { kind: 'part' }>): void;
  /** The connection is to be closed. */
  cut(): void;
  /** It does not have the session: nothing was done. */
  moved(): void;
  /** It was not told: nothing was done. */
  refuse(error: StoreUnavailable): void;
  /** This node drains: what has no end is ended here. */
  close(): void;
  /** Settles once it is over. */
  readonly over: Promise<void>;
  /**
   * It has left or died, or this node has lost its lease.
   * @param afterMs how long what it has said before may be on its way
   */
  lost(afterMs: number): Promise<void>;
}

/** A request that it has handed to this node. */
export interface Taken {
  /** Its client has gone. */
  left(): void;
  /** Its client has taken so much more, bytes. */
  taken(bytes: number): void;
}

/** What the other nodes have in common. */
export interface PeerHome {
  readonly stores: Stores;
  readonly clock: Clock;
  /** The name of this node's lease. */
  readonly node: string;
  /** Counts all envelopes of this node. */
  nextNumber(): number;
  /** Whether this node is still the one of that name. */
  isStill(node: string): boolean;
  /** It no longer reads anything. */
  gone(peer: Peer): void;
}

/** How long a text waits that could not be sent, milliseconds. */
const againMs = 50;

export class Peer {
  readonly node: string;
  /** Requests that were handed to it, by their numbers. */
  readonly passages = new Map<string, Handed>();
  /** Requests that it has handed to this node. */
  readonly exchanges = new Map<string, Taken>();
  /** The number of the last envelope that came from it. */
  heard = 0;
  readonly #home: PeerHome;
  readonly #from: string;
  #queue: Letter[] = [];
  #sending: Promise<void> | undefined = undefined;

  constructor(node: string, home: PeerHome) {
    this.node = node;
    this.#home = home;
    this.#from = home.node;
  }

  post(letter: Letter): void {
    this.#queue.push(letter);
    if (!this.#sending) onceAtPassEnd(this.#send);
  }

  /** Finds out whether it lives, if anything depends on it. */
  look(): void {
    if (this.#sending || (this.passages.size === 0 && this.exchanges.size === 0)) return;
    this.#sending = this.#run([]).then(this.#sentAll);
  }

  /** Settles once everything has been sent, or cannot be. */
  async flushed(): Promise<void> {
    this.#send();
    await this.#sending;
  }

  /** Takes a request back. @returns false if it has been read, or nobody knows */
  async withdraw(passage: Handed): Promise<boolean> {
    const index = this.#queue.findIndex(
      (letter) => letter.kind === 'request' && letter.pipe === passage.pipe,
    );
    if (index !== -1) {
      this.#queue.splice(index, 1);
      return true;
    }
    const { inboxPlace: place } = passage;
    if (place === undefined) return false;
    return this.#home.stores.inbox
      .withdraw(this.node, place, `${this.#from}:${passage.pipe}`)
      .catch(() => false);
  }

  readonly #send = (): void => {
    if (this.#sending || this.#queue.length === 0) return;
    this.#sending = this.#run(this.#take()).then(this.#sentAll);
  };

  readonly #sentAll = (isHeard: boolean): void => {
    this.#sending = undefined;
    if (isHeard) this.#send();
  };

  #take(): readonly Letter[] {
    const letters = this.#queue;
    this.#queue = [];
    return letters;
  }

  /** @returns false if it reads nothing any longer */
  async #run(first: readonly Letter[]): Promise<boolean> {
    let letters = first;
    do {
      const number = this.#home.nextNumber();
      let isUnknown = false;
      for (;;) {
        if (!this.#home.isStill(this.#from)) return false;
        try {
          const envelope = JSON.stringify({ from: this.#from, number, letters });
          const text = letters.length === 0 ? '' : envelope;
          const place = await this.#home.stores.inbox.send(this.node, text);
          if (place === undefined) {
            // It has not got these: their requests can be taken back.
            const requests = letters.filter(({ kind }) => kind === 'request');
            if (!isUnknown) this.#queue = [...requests, ...this.#queue];
            this.#home.gone(this);
            return false;
          }
          this.#placed(letters, place);
          break;
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
          if (error.fault === 'closed') {
            this.#home.gone(this);
            return false;
          }
          // After any other fault the store has not got it: the clients of these may try again.
          isUnknown ||= error.fault === 'slow' || error.cause !== undefined;
          if (!isUnknown) letters = this.#refuse(letters, error);
          await new Promise<void>((resolve) => {
            this.#home.clock.setTimeout(resolve, againMs);
          });
        }
      }
      letters = this.#take();
    } while (letters.length > 0);
    return true;
  }

  #placed(letters: readonly Letter[], place: string): void {
    for (const letter of letters) {
      const passage = letter.kind === 'request' ? this.passages.get(letter.pipe) : undefined;
      if (passage) passage.inboxPlace = place;
    }
  }

  #refuse(letters: readonly Letter[], error: StoreUnavailable): readonly Letter[] {
    for (const letter of letters) {
      if (letter.kind === 'request') this.passages.get(letter.pipe)?.refuse(error);
    }
    return letters.filter(({ kind }) => kind !== 'request');
  }
}
