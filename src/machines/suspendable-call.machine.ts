/**
 * Suspendable call (multi round-trip requests): the state of its handler, and whether a request is open.
 * Questions of the handler are sent in an `input_required` result, which suspends the call. The client
 * retries with the answers, which opens a request again.
 *
 * The machine has no context and no actions, so calls need no actors: see {@link pureChart}.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from './pure-chart.ts';
import type { PureChart } from './pure-chart.ts';

export type SuspendableCallEvent =
  /** The handler asked its first open question. */
  | { readonly type: 'question.asked' }
  /** All questions were answered from the request state, so the handler continues. */
  | { readonly type: 'questions.answered' }
  /** The questions could not be sent and have failed. */
  | { readonly type: 'questions.failed' }
  /** The open request was answered with the questions. */
  | { readonly type: 'questions.sent' }
  /** An answer is malformed; the client receives an error. */
  | { readonly type: 'answer.refused' }
  /** The client retried with answers. */
  | { readonly type: 'retry.received' }
  /** The handler returned or threw. */
  | { readonly type: 'handler.settled' }
  /** The handler threw `UrlElicitationRequired`. */
  | { readonly type: 'urls.demanded' }
  /** The open request was answered with the URLs. */
  | { readonly type: 'urls.sent' }
  | { readonly type: 'urls.failed' }
  /** The client cancelled the open request, or the call was abandoned. */
  | { readonly type: 'call.cancelled' };

/** Tags of the states, for code outside the machine. */
export type SuspendableCallTag =
  /** A request is open, and is answered when the call ends or asks. */
  | 'open'
  /** Waiting for the client's retry. */
  | 'suspended'
  /** The handler may ask questions. */
  | 'asking'
  /** The outcome of the handler no longer matters. */
  | 'over'
  /** The call ended before its handler, whose signal is aborted. */
  | 'aborted'
  /** A retry restarts the handler. */
  | 'void';

export const suspendableCallMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as SuspendableCallEvent,
    tags: {} as SuspendableCallTag,
  },
}).createMachine({
  id: 'suspendable-call',
  context: {},
  initial: 'serving',
  states: {
    serving: {
      description: 'A request is open, and the handler has no open question.',
      tags: ['open', 'asking'],
      on: {
        'question.asked': 'gathering',
        'handler.settled': 'ended',
        'urls.demanded': 'demanding',
        'call.cancelled': 'cancelled',
      },
    },
    gathering: {
      description: 'The handler has asked. Further questions join until the request is answered.',
      tags: ['open', 'asking'],
      on: {
        'questions.answered': 'serving',
        'questions.failed': 'serving',
        'questions.sent': 'suspended',
        'answer.refused': 'refused',
        'handler.settled': 'ended',
        'urls.demanded': 'demanding',
        'call.cancelled': 'cancelled',
      },
    },
    suspended: {
      description: 'No request is open: the client was sent the questions and may retry.',
      tags: 'suspended',
      initial: 'waiting',
      states: {
        waiting: {
          tags: 'asking',
          on: {
            'retry.received': '#suspendable-call.gathering',
            'handler.settled': 'settled',
            'urls.demanded': 'demanded',
          },
        },
        settled: {
          description: 'The handler ended without its answers. The retry gets its outcome.',
          tags: 'asking',
          on: { 'retry.received': '#suspendable-call.ended' },
        },
        demanded: {
          description: 'The handler ended without its answers. The retry gets the URLs to open.',
          tags: 'asking',
          on: { 'retry.received': '#suspendable-call.demanding' },
        },
      },
      on: { 'call.cancelled': 'cancelled' },
    },
    demanding: {
      description: 'The handler has ended; the open request gets the URLs to open.',
      tags: 'open',
      on: {
        'urls.sent': 'void',
        'urls.failed': 'ended',
        'call.cancelled': 'cancelled',
      },
    },
    ended: {
      type: 'final',
      description: 'The handler has settled, and its request is answered.',
      tags: 'over',
    },
    cancelled: {
      type: 'final',
      description: 'The outcome of the handler is discarded.',
      tags: ['over', 'aborted'],
    },
    refused: {
      type: 'final',
      description:
        'The client gets an error about a malformed answer. Its next retry restarts the handler.',
      tags: ['over', 'aborted', 'void'],
    },
    void: {
      type: 'final',
      description: 'The client got the URLs to open. The retry restarts the handler.',
      tags: ['over', 'void'],
    },
  },
});

/** Snapshot of a call, shared by all calls in the same state. */
export type SuspendableCallSnapshot = SnapshotFrom<typeof suspendableCallMachine>;

export const suspendableCallChart: PureChart<SuspendableCallSnapshot, SuspendableCallEvent> =
  pureChart(suspendableCallMachine);
