/**
 * State of an HTTP session: the progress of its handshake, and how long an idle session is kept,
 * because clients rarely end their sessions.
 *
 * The machine does not see ordinary requests. The endpoint checks periodically which sessions are
 * idle, and sends the first request after that.
 *
 * A pure chart without context or actor: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { StateMeta } from '../../../../src/machines/names.ts';

export type HttpSessionEvent =
  /** `initialize` was answered. */
  | { readonly type: 'session.initializeAnswered' }
  /** The client sent `notifications/initialized`. */
  | { readonly type: 'session.initialized' }
  /** The session is served, still without actors. */
  | { readonly type: 'session.started' }
  /** The session's actors have started. */
  | { readonly type: 'session.actorsStarted' }
  /** No request is in progress and no stream is open. */
  | { readonly type: 'session.idled' }
  /** A request arrived after the handshake. */
  | { readonly type: 'session.used' }
  /** The idle timeout has passed. */
  | { readonly type: 'session.timedOut' }
  /** Another session needs its slot. */
  | { readonly type: 'session.evicted' }
  /** Another node may serve the session from now on. */
  | { readonly type: 'session.abandoned' }
  /** The client deleted the session, or the session itself ended. */
  | { readonly type: 'session.ended' };

/** Meaning of the states for users of the machine. */
export type HttpSessionTag =
  /** Requests are served. */
  | 'open'
  /** Nothing is in progress, so the session may be evicted. */
  | 'evictable'
  /** No request arrived since the handshake. */
  | 'unused'
  /** A request arrived since the session was idle. */
  | 'active'
  /** `initialize` was answered; `notifications/initialized` is missing. */
  | 'answered'
  /** The client sent `notifications/initialized`; there are no actors yet. */
  | 'initialized'
  /** Only the handshake happened, so another node may take over at once. */
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
      meta: { isGroup: true },
      tags: 'open',
      type: 'parallel',
      on: {
        'session.evicted': 'expired',
        'session.abandoned': 'abandoned',
        'session.ended': 'closed',
      },
      states: {
        client: {
          description: 'Progress of the handshake.',
          meta: { isHiddenRegion: true },
          initial: 'uninitialized',
          on: { 'session.actorsStarted': '.running' },
          states: {
            uninitialized: {
              description: '`initialize` was not answered yet.',
              on: { 'session.initializeAnswered': 'answered', 'session.started': 'preparing' },
            },
            preparing: {
              description: 'The server is being prepared for the client.',
              on: { 'session.initializeAnswered': 'early' },
            },
            answered: {
              description: '`initialize` was answered; there are no actors yet.',
              tags: ['answered', 'movable'],
              on: { 'session.initialized': 'ready', 'session.started': 'early' },
            },
            early: {
              description: 'Requests are served before `notifications/initialized`.',
              tags: 'answered',
              on: { 'session.initialized': 'actorless' },
            },
            ready: {
              description: 'The handshake is complete; no request has arrived.',
              tags: 'initialized',
              on: { 'session.started': 'actorless' },
            },
            actorless: {
              description: 'Requests are served without actors.',
              tags: 'initialized',
            },
            running: { description: 'The actors of the session serve the client.' },
          },
        },
        use: {
          description: 'Decides how long the session is kept.',
          meta: { isGroup: true },
          initial: 'initializing',
          states: {
            initializing: {
              description: 'The handshake is in progress.',
              tags: 'unused',
              on: { 'session.used': 'active', 'session.idled': 'unused' },
            },
            unused: {
              description: 'No request since the handshake: evicted first.',
              tags: ['evictable', 'unused'],
              on: { 'session.used': 'active', 'session.timedOut': '#http-session.expired' },
            },
            active: {
              description: 'A request is in progress, or a stream is open.',
              tags: 'active',
              on: { 'session.idled': 'idle' },
            },
            idle: {
              description: 'No request is in progress and no stream is open.',
              tags: 'evictable',
              on: { 'session.used': 'active', 'session.timedOut': '#http-session.expired' },
            },
          },
        },
      },
    },
    expired: { type: 'final', description: 'The idle timeout passed, or the session was evicted.' },
    closed: { type: 'final', description: 'The client or the server ended the session.' },
    abandoned: { type: 'final', description: 'Another node may serve the session.' },
  },
});

/** State of a session. Sessions in the same state share one snapshot. */
export type HttpSessionSnapshot = SnapshotFrom<typeof httpSessionMachine>;

const chart = pureChart(httpSessionMachine);

export const begunHttpSession: HttpSessionSnapshot = chart.initial;

/** Computes the next state. */
export const nextHttpSession: (
  from: HttpSessionSnapshot,
  event: HttpSessionEvent,
) => HttpSessionSnapshot = chart.next;

/**
 * Reason of a session's end, for messages.
 *
 * @param idleTimeoutMs idle timeout, milliseconds
 */
export function reasonOfEnd(by: HttpSessionEvent['type'], idleTimeoutMs: number): string {
  if (by === 'session.evicted') return 'Another session needed its slot';
  if (by === 'session.abandoned') return 'Another process may serve the session now';
  if (by !== 'session.timedOut') return 'The client ended the session';
  return `The session was idle for ${idleTimeoutMs} ms`;
}
