/**
 * How long a session over HTTP is kept: nobody tells when its client has gone for good.
 *
 * The machine hears nothing of ordinary requests. Whoever keeps the sessions looks from time to time
 * which of them are quiet, and tells the first request after that.
 *
 * It has no context and does nothing by itself, so a session needs no actor of it: all sessions in
 * one state share its snapshot (see {@link nextHttpSession}).
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import { initialTransition, setup, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';

export type HttpSessionEvent =
  /** No request of it is in progress, and no stream is open. */
  | { readonly type: 'session.quieted' }
  /** A request has come, after the greeting. */
  | { readonly type: 'session.used' }
  /** It was idle for as long as it may be. */
  | { readonly type: 'session.overdue' }
  /** Its place is needed for another one. */
  | { readonly type: 'session.evicted' }
  /** The client has ended it, or the session itself is over. */
  | { readonly type: 'session.ended' };

/** What a state means to those outside of the machine. */
export type HttpSessionTag =
  /** Requests are served. */
  | 'open'
  /** Nothing of it is in progress: it may be ended for another one. */
  | 'evictable'
  /** Its client has asked nothing since it was greeted. */
  | 'unasked';

export const httpSessionMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as HttpSessionEvent,
    tags: {} as HttpSessionTag,
  },
}).createMachine({
  id: 'http-session',
  context: {},
  initial: 'greeting',
  states: {
    greeting: {
      description: 'Its client begins it.',
      tags: ['open', 'unasked'],
      on: {
        'session.used': 'active',
        'session.quieted': 'greeted',
        'session.evicted': 'expired',
        'session.ended': 'closed',
      },
    },
    greeted: {
      description: 'Its client has asked nothing since: the first to give up its place.',
      tags: ['open', 'evictable', 'unasked'],
      on: {
        'session.used': 'active',
        'session.evicted': 'expired',
        'session.overdue': 'expired',
        'session.ended': 'closed',
      },
    },
    active: {
      description: 'Requests come, are served, or a stream is open.',
      tags: 'open',
      on: {
        'session.quieted': 'idle',
        'session.evicted': 'expired',
        'session.ended': 'closed',
      },
    },
    idle: {
      description: 'Nothing has come for a while, and nobody listens.',
      tags: ['open', 'evictable'],
      on: {
        'session.used': 'active',
        'session.evicted': 'expired',
        'session.overdue': 'expired',
        'session.ended': 'closed',
      },
    },
    expired: { type: 'final', description: 'The client did not come back.' },
    closed: { type: 'final', description: 'The client has ended it, or the server has.' },
  },
});

/** Where a session stands. Sessions in the same state have the same one. */
export type HttpSessionSnapshot = SnapshotFrom<typeof httpSessionMachine>;

export const begunHttpSession: HttpSessionSnapshot = initialTransition(httpSessionMachine)[0];

/** What each event leads to from each state, once it was asked for. */
const known = new Map<HttpSessionSnapshot, Map<string, HttpSessionSnapshot>>();

/** Where an event leads. */
export function nextHttpSession(
  from: HttpSessionSnapshot,
  event: HttpSessionEvent,
): HttpSessionSnapshot {
  const row = known.get(from) ?? new Map<string, HttpSessionSnapshot>();
  known.set(from, row);
  let next = row.get(event.type);
  if (!next) {
    const [made] = transition(httpSessionMachine, from, event);
    next = [...known.keys()].find(({ value }) => value === made.value) ?? made;
    row.set(event.type, next);
  }
  return next;
}

/** A session whose client asks for something. */
export const activeHttpSession = nextHttpSession(begunHttpSession, { type: 'session.used' });

/**
 * Why a session was ended, in words.
 * @param idleTimeoutMs how long it may be idle, milliseconds
 */
export function reasonOfEnd(by: HttpSessionEvent['type'], idleTimeoutMs: number): string {
  if (by === 'session.evicted') return 'Another session needed its place';
  if (by !== 'session.overdue') return 'The client has ended the session';
  return `Its client was not heard of for ${idleTimeoutMs} ms`;
}
