/**
 * How long a session over HTTP is kept: a client that leaves for good does not say so.
 *
 * Ordinary requests are not sent to the machine. The keeper of the sessions checks from time to
 * time which of them are quiet, and tells the machine of the first request after that.
 *
 * It has no context and does nothing by itself, so a session needs no actor for it: see {@link
 * pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from './pure-chart.ts';

export type HttpSessionEvent =
  /** No request of it is in progress, and no stream is open. */
  | { readonly type: 'session.quieted' }
  /** A request has come after the greeting. */
  | { readonly type: 'session.used' }
  /** It was idle for longer than it may be. */
  | { readonly type: 'session.overdue' }
  /** Its place is needed for another one. */
  | { readonly type: 'session.evicted' }
  /** Another node may serve it from now on. */
  | { readonly type: 'session.abandoned' }
  /** The client has ended it, or the session itself is over. */
  | { readonly type: 'session.ended' };

/** What a state means outside the machine. */
export type HttpSessionTag =
  /** Requests are served. */
  | 'open'
  /** Nothing is in progress: the session may be ended to make room for another one. */
  | 'evictable'
  /** Its client has sent no request since the greeting. */
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
        'session.abandoned': 'abandoned',
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
        'session.abandoned': 'abandoned',
        'session.ended': 'closed',
      },
    },
    active: {
      description: 'Requests come, are served, or a stream is open.',
      tags: 'open',
      on: {
        'session.quieted': 'idle',
        'session.evicted': 'expired',
        'session.abandoned': 'abandoned',
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
        'session.abandoned': 'abandoned',
        'session.ended': 'closed',
      },
    },
    expired: { type: 'final', description: 'The client did not come back.' },
    closed: { type: 'final', description: 'The client has ended it, or the server has.' },
    abandoned: { type: 'final', description: 'This node has no right to it any more.' },
  },
});

/** The state of a session. Sessions in the same state share one snapshot. */
export type HttpSessionSnapshot = SnapshotFrom<typeof httpSessionMachine>;

const chart = pureChart(httpSessionMachine);

export const begunHttpSession: HttpSessionSnapshot = chart.begun;

/** Where an event leads. */
export const nextHttpSession: (
  from: HttpSessionSnapshot,
  event: HttpSessionEvent,
) => HttpSessionSnapshot = chart.next;

/** A session whose client has sent a request. */
export const activeHttpSession = nextHttpSession(begunHttpSession, { type: 'session.used' });

/**
 * Why a session was ended, in words.
 * @param idleTimeoutMs how long it may be idle, milliseconds
 */
export function reasonOfEnd(by: HttpSessionEvent['type'], idleTimeoutMs: number): string {
  if (by === 'session.evicted') return 'Another session needed its place';
  if (by === 'session.abandoned') return 'Another process may serve the session by now';
  if (by !== 'session.overdue') return 'The client has ended the session';
  return `Its client was not heard of for ${idleTimeoutMs} ms`;
}
