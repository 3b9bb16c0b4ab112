/** Messages between nodes, and what waits for the client. */

/** What one node tells another of a session. */
export type Letter =
  /** The client's answer to a request that the node has sent, as JSON. */
  | { readonly kind: 'answer'; readonly session: string; readonly text: string }
  /** A notification from the client that a call or a replica there may wait for, as JSON: `cancelled`, `progress`, `roots/list_changed`. */
  | { readonly kind: 'notification'; readonly session: string; readonly text: string }
  /** The journal has this version now, with this change: `text` is missing if the slot was emptied. */
  | {
      readonly kind: 'updated';
      readonly session: string;
      readonly version: number;
      readonly slot: string;
      readonly text?: string | undefined;
    }
  | { readonly kind: 'removed'; readonly session: string; readonly reason: RemovalReason }
  /** The client has resumed a stream of that node's elsewhere: the node should let go of its connection. */
  | { readonly kind: 'resumed'; readonly session: string; readonly stream: string };

/** Why a session was removed. */
export type RemovalReason = 'deleted' | 'expired' | 'evicted';

/** What a mailbox itself has to tell its node. */
export type MailboxNotice =
  /** Pushes wait for the stream of this node that holds the session. */
  | { readonly kind: 'pushes.waiting'; readonly session: string; readonly stream: string }
  /** A newer stream has taken the pushes of a session from a stream of this node. */
  | { readonly kind: 'hold.taken'; readonly session: string; readonly stream: string }
  /** Nobody holds the pushes of a session: a stream of this node may. */
  | { readonly kind: 'hold.free'; readonly session: string }
  /** The other nodes took this one for dead, or the store lost its data. It lives again: touch all sessions, and hold again. */
  | { readonly kind: 'node.lapsed' };

/** What became of a letter. */
export type Delivery =
  /** The node's listener has had the letter. */
  | { readonly kind: 'received' }
  /** The node is dead, and its letters are gone. */
  | { readonly kind: 'gone' };

/** Whether a stream gets a session's pushes. */
export type Hold =
  | {
      readonly kind: 'held';
      /** Whether pushes wait: {@link Mailbox.take} them. */
      readonly waiting: boolean;
    }
  /** Another stream holds, and its node lives. Only with `ifFree`. */
  | { readonly kind: 'taken'; readonly by: string }
  /** No node has a replica of the session: it has been removed. */
  | { readonly kind: 'gone' };

/** What a stream gets of the pushes that waited. */
export type Taken =
  | {
      readonly kind: 'taken';
      /** JSON, oldest first. */
      readonly texts: readonly string[];
      /** How many older ones gave way to them before anybody took them. */
      readonly dropped: number;
    }
  /** Another stream holds the pushes by now. */
  | { readonly kind: 'notHolder' };

/** What a node hears from its mailbox. */
export interface MailboxListener {
  /** Another node has something to say. */
  letter(letter: Letter): void;
  /** The mailbox itself has something to say. */
  notice(notice: MailboxNotice): void;
}

/** How much waits for a client without a stream. */
export interface PushLimits {
  /** Pushes of a session that wait for a stream; the oldest gives way. */
  readonly maxPushes: number;
  /** Their texts together, bytes. */
  readonly maxPushBytes: number;
}

export const defaultPushLimits: PushLimits = { maxPushes: 100, maxPushBytes: 1024 * 1024 };

/**
 * What reaches other nodes. Every promise settles within the store's time limit. It rejects with
 * `StoreUnavailable` if the store could not be asked, or if a node that lives did not take a letter
 * in time; that node may have it nevertheless, so letters must be harmless when they come twice.
 *
 * Pushes are messages that belong to no request. The stream that holds a session's pushes
 * gets them; all others may be left out.
 */
export interface Mailbox {
  /** Who gets the letters and notices of this node. Must be set before the first {@link join}. */
  listen(listener: MailboxListener): void;
  /** This node has a replica of the session from now on, and gets what is told to all of them. */
  join(session: string): Promise<void>;
  /** The replica has ended. */
  leave(session: string): Promise<void>;
  /**
   * Resolves once the other node's listener has had the letter: then, and not before, the message
   * that it carries may be acknowledged to the client.
   */
  send(node: string, letter: Letter): Promise<Delivery>;
  /**
   * Tells all other nodes that have a replica of the session. Resolves once each that lives has had
   * the letter.
   */
  broadcast(letter: Letter): Promise<void>;
  /**
   * Makes a stream of this node the one that gets the session's pushes. `newest` takes them from
   * the stream that has them, and tells its node; `ifFree` takes them only if they are free, or from a dead node.
   */
  hold(session: string, stream: string, how: 'newest' | 'ifFree'): Promise<Hold>;
  /**
   * Lets go of the pushes: what was taken and not written waits again. If this stream still held
   * them, the other nodes are told that they are free.
   */
  release(session: string, stream: string): Promise<void>;
  /**
   * Keeps a push until the holder takes it, and tells the holder. It survives this node. Resolves
   * once it is stored. The pushes of a session that has been removed are dropped.
   */
  push(session: string, text: string): Promise<void>;
  /**
   * Gives the holder all that waits. It stays in the holder's hand until {@link written}: if the
   * holder's node dies before that, the next holder gets it once more.
   */
  take(session: string, stream: string): Promise<Taken>;
  /** Of what was taken, the oldest `count` have been written to the stream and to its log. */
  written(session: string, stream: string, count: number): Promise<void>;
  /** Drops all that waits for a session, and who has replicas of it. */
  forget(session: string): Promise<void>;
}
