/**
 * A session over HTTP: how far it has come with its client, and how long it is kept, because a client
 * that leaves for good does not say so.
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
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { StateMeta } from '../../../../src/machines/names.ts';

export type HttpSessionEvent =
  /** Its client's `initialize` was answered without actors. */
  | { readonly type: 'session.greeted' }
  /** Its client has said since that it is ready. */
  | { readonly type: 'session.readied' }
  /** Its client is served, and has no actors yet. */
  | { readonly type: 'session.listened' }
  /** Its actors were made. */
  | { readonly type: 'session.served' }
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
  | 'unasked'
  /** A request was sent since it was quiet. */
  | 'active'
  /** Its client was answered, and has not said that it is ready. */
  | 'greeted'
  /** Its client has said that it is ready, and has no actors yet. */
  | 'ready'
  /** Another node may go on with it at once: there is nothing of it but its greeting. */
  | 'movable';

export const httpSessionMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as HttpSessionEvent,
    tags: {} as HttpSessionTag,
    meta: {} as StateMeta,
  },
}).createMachine({
  id: 'http-session',
  context: {},
  initial: 'open',
  states: {
    open: {
      meta: { isNameless: true },
      tags: 'open',
      type: 'parallel',
      on: {
        'session.evicted': 'expired',
        'session.abandoned': 'abandoned',
        'session.ended': 'closed',
      },
      states: {
        client: {
          description: 'How far it has come.',
          meta: { isAside: true },
          initial: 'unknown',
          on: { 'session.served': '.served' },
          states: {
            unknown: {
              description: 'Its initialize was not answered.',
              on: { 'session.greeted': 'greeted', 'session.listened': 'preparing' },
            },
            preparing: {
              description: 'What the server has for it is found out.',
              on: { 'session.greeted': 'early' },
            },
            greeted: {
              description: 'It was answered, and has no actors yet.',
              tags: ['greeted', 'movable'],
              on: { 'session.readied': 'ready', 'session.listened': 'early' },
            },
            early: {
              description: 'It may ask, and has not said yet that it is ready.',
              tags: 'greeted',
              on: { 'session.readied': 'asking' },
            },
            ready: {
              description: 'It has said that it is ready, and no more.',
              tags: 'ready',
              on: { 'session.listened': 'asking' },
            },
            asking: {
              description: 'It asks, and is answered. No actor is needed for that.',
              tags: 'ready',
            },
            served: { description: 'The actors of a session speak with it.' },
          },
        },
        use: {
          description: 'How long it is kept.',
          meta: { isNameless: true },
          initial: 'greeting',
          states: {
            greeting: {
              description: 'Its client begins it.',
              tags: 'unasked',
              on: { 'session.used': 'active', 'session.quieted': 'greeted' },
            },
            greeted: {
              description: 'Its client has asked nothing since: the first to give up its place.',
              tags: ['evictable', 'unasked'],
              on: { 'session.used': 'active', 'session.overdue': '#http-session.expired' },
            },
            active: {
              description: 'Requests come, are served, or a stream is open.',
              tags: 'active',
              on: { 'session.quieted': 'idle' },
            },
            idle: {
              description: 'Nothing has come for a while, and nobody listens.',
              tags: 'evictable',
              on: { 'session.used': 'active', 'session.overdue': '#http-session.expired' },
            },
          },
        },
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
