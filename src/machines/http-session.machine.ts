/**
 * How long a session over HTTP is kept: nobody tells when its client has gone for good.
 *
 * The machine hears nothing of ordinary requests. Whoever keeps the sessions looks from time to time
 * which of them are quiet, and tells the first request after that.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import { setup } from 'xstate';

export interface HttpSessionInput {
  /** How long it may be quiet, milliseconds, until it expires. */
  readonly idleTimeoutMs: number;
}

export type HttpSessionEvent =
  /** No request of it is in progress, and no stream is open. */
  | { readonly type: 'session.quieted' }
  /** A request has come. */
  | { readonly type: 'session.used' }
  /** Its place is needed for another one. */
  | { readonly type: 'session.evicted' }
  /** The client has ended it, or the session itself is over. */
  | { readonly type: 'session.ended' };

/** What a state means to those outside of the machine. */
export type HttpSessionTag =
  /** Requests are served. */
  | 'open'
  /** It may be ended for another one. */
  | 'evictable';

export const httpSessionMachine = setup({
  types: {
    input: {} as HttpSessionInput,
    context: {} as HttpSessionInput,
    events: {} as HttpSessionEvent,
    tags: {} as HttpSessionTag,
  },
  delays: { idleTimeout: ({ context }) => context.idleTimeoutMs },
}).createMachine({
  id: 'http-session',
  context: ({ input }) => input,
  initial: 'active',
  states: {
    active: {
      description: 'Requests come, are served, or a stream is open.',
      tags: 'open',
      on: { 'session.quieted': 'idle', 'session.ended': 'closed' },
    },
    idle: {
      description: 'Nothing has come for a while, and nobody listens.',
      tags: ['open', 'evictable'],
      on: {
        'session.used': 'active',
        'session.evicted': 'expired',
        'session.ended': 'closed',
      },
      after: { idleTimeout: 'expired' },
    },
    expired: { type: 'final', description: 'The client did not come back.' },
    closed: { type: 'final', description: 'The client has ended it, or the server has.' },
  },
});
