/** Another node: what it is told, in order, and what this node does for it and it for this one. */
import { onceAtPassEnd } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import type { HttpReport } from '../facts.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import type { Stores } from '../nodes/stores.ts';
import { writePost } from './letters.ts';
import type { Letter } from './letters.ts';
import { reportUnavailable } from './unavailable.ts';

/** A request that was handed to it. */
export interface Handed {
  readonly pipe: number;
  /** Where the request is in its inbox, and which data the store had then. */
  sentTo: { readonly place: string; readonly store: string | undefined } | undefined;
  /** All of the answer. */
  answer(letter: Extract<Letter, { kind: 'answer' }>): void;
  /** A part of the answer. */
  part(letter: Extract<Letter, { kind: 'part' }>): void;
  /** So many parts of the answer were sent; undefined if nothing is known of the request. */
  sent(parts: number | undefined): void;
  /** The connection is to be closed. */
  cut(): void;
  /** It does not have the session: nothing was done. */
  moved(): void;
  /** It was not told, and nothing was done; or the store has failed in a way of its own, and nobody knows. */
  refuse(error: unknown): void;
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
  /** How many parts of the answer have been sent. */
  readonly parts: number;
  /** Its client has gone. */
  left(): void;
  /** Its client has taken so much, bytes. */
  taken(bytes: number): void;
}

/** What the other nodes have in common. */
export interface PeerHome {
  readonly stores: Stores;
  readonly clock: Clock;
  readonly report: HttpReport;
  /** The name of this node's lease. */
  readonly node: string;
  /** Which data the store has, as far as this node knows. */
  readonly storeName: string | undefined;
  /** Counts all envelopes of this node. */
  nextNumber(): number;
  /** Whether this node is still the one of that name. */
  isStill(node: string): boolean;
  /** Whether the store has lost data so lately that a node which lives may not have opened its inbox again. */
  mayReopen(): Promise<boolean>;
  /** It no longer reads anything. */
  gone(peer: Peer): void;
}

/** How long a text waits that could not be sent, milliseconds. */
const againMs = 50;

/** How many changes of another node are remembered. It tells of fewer a second time. */
const maxChanges = 2500;

export class Peer {
  readonly node: string;
  /** Requests that were handed to it, by their numbers. */
  readonly passages = new Map<number, Handed>();
  /** Requests that it has handed to this node. */
  readonly exchanges = new Map<number, Taken>();
  /** The number of the last envelope that came from it. */
  heard = 0;
  /** The numbers of the changes that it has told of lately. */
  readonly #changes = new Set<number>();
  readonly #home: PeerHome;
  readonly #from: string;
  #queue: Letter[] = [];
  /** Whether the other node still reads, once that is known. */
  #sending: Promise<boolean> | undefined = undefined;

  constructor(node: string, home: PeerHome) {
    this.node = node;
    this.#home = home;
    this.#from = home.node;
  }

  post(letter: Letter): void {
    this.#queue.push(letter);
    if (!this.#sending) this.#gather();
  }

  /** Whether a change is news: the other node has not told of it before. */
  isNews(serial: number): boolean {
    if (this.#changes.has(serial)) return false;
    this.#changes.add(serial);
    const [oldest] = this.#changes.size > maxChanges ? this.#changes : [];
    if (oldest !== undefined) this.#changes.delete(oldest);
    return true;
  }

  /** Finds out whether it lives, if anything depends on it. */
  look(): void {
    if (this.#sending || (this.passages.size === 0 && this.exchanges.size === 0)) return;
    this.#sending = this.#run([]).then(this.#sent);
  }

  /** Settles once everything has been sent, or cannot be. */
  async flushed(): Promise<void> {
    do this.#send();
    while (await this.#sending);
  }

  /** The store may have lost letters. */
  ask(): void {
    for (const { pipe } of this.passages.values()) this.post({ kind: 'asked', pipe });
  }

  /** Takes a request back. `read`: it has been read, as far as anybody knows. `unknown`: later it may be known. */
  async withdraw(passage: Handed): Promise<'withdrawn' | 'read' | 'unknown'> {
    const index = this.#queue.findIndex(
      (letter) => letter.kind === 'request' && letter.pipe === passage.pipe,
    );
    if (index !== -1) {
      this.#queue.splice(index, 1);
      return 'withdrawn';
    }
    const { pipe, sentTo } = passage;
    if (!sentTo) return 'unknown';
    const { inbox, directory } = this.#home.stores;
    try {
      const isBack = await inbox.withdraw(this.node, sentTo.place, `${this.#from}:${pipe}`);
      if (!isBack) return 'read';
      // A store with other data does not know what was read.
      const { store } = await directory.find('');
      return store.name === sentTo.store ? 'withdrawn' : 'read';
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.#failed(error);
      return 'unknown';
    }
  }

  /**
   * Sends at the end of the next pass: of what comes together, a part is often read a pass later, and a
   * command costs as much as several letters.
   */
  #gather(): void {
    onceAtPassEnd(this.#gathered);
  }

  readonly #gathered = (): void => onceAtPassEnd(this.#send);

  readonly #send = (): void => {
    if (this.#sending || this.#queue.length === 0) return;
    const letters = this.#queue;
    this.#queue = [];
    this.#sending = this.#run(letters).then(this.#sent);
  };

  readonly #sent = (isHeard: boolean): boolean => {
    this.#sending = undefined;
    if (isHeard && this.#queue.length > 0) this.#gather();
    return isHeard;
  };

  /** @returns false if it reads nothing any longer */
  async #run(first: readonly Letter[]): Promise<boolean> {
    let letters = first;
    const number = this.#home.nextNumber();
    let isUnknown = false;
    for (;;) {
      if (!this.#home.isStill(this.#from)) return false;
      try {
        const from = this.#from;
        const text = letters.length === 0 ? '' : writePost({ from, number, letters });
        const store = this.#home.storeName;
        const place = await this.#home.stores.inbox.send(this.node, text);
        if (place === undefined && (await this.#home.mayReopen())) {
          const message = 'the store has lost data, and the other node may come back';
          throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
        }
        if (place === undefined) {
          // It has not got these: their requests can be taken back.
          const requests = letters.filter(({ kind }) => kind === 'request');
          if (!isUnknown) this.#queue = [...requests, ...this.#queue];
          this.#home.gone(this);
          return false;
        }
        this.#placed(letters, { place, store });
        return true;
      } catch (error) {
        const known = error instanceof StoreUnavailable ? error : undefined;
        if (known?.fault === 'closed') {
          this.#home.gone(this);
          return false;
        }
        if (!known && !isUnknown) this.#failed(error);
        // After any other fault the store has not got it: the clients of these may try again.
        isUnknown ||= !known || known.fault === 'slow' || known.cause !== undefined;
        if (!isUnknown || !known) letters = this.#refuse(letters, error);
        await new Promise<void>((resolve) => {
          this.#home.clock.setTimeout(resolve, againMs);
        });
      }
    }
  }

  #placed(letters: readonly Letter[], sentTo: NonNullable<Handed['sentTo']>): void {
    for (const letter of letters) {
      const passage = letter.kind === 'request' ? this.passages.get(letter.pipe) : undefined;
      if (passage) passage.sentTo = sentTo;
    }
  }

  #failed(error: unknown): void {
    reportUnavailable(this.#home.report, 'Another node could not be told')(error);
  }

  #refuse(letters: readonly Letter[], error: unknown): readonly Letter[] {
    for (const letter of letters) {
      if (letter.kind === 'request') this.passages.get(letter.pipe)?.refuse(error);
    }
    return letters.filter(({ kind }) => kind !== 'request');
  }
}
