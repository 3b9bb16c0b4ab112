/**
 * A call that asks its client by ending: the state of its handler, and whether a request is open
 * that can be answered. When the handler asks, the open request is answered with the questions and
 * the call is suspended. The client's retry brings the answers and opens a request again.
 *
 * It has no context and does nothing by itself, so a call needs no actor: see {@link pureChart}.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from './pure-chart.ts';
import type { PureChart } from './pure-chart.ts';

export type SuspendableCallEvent =
  /** The handler asks while none of its questions are open. */
  | { readonly type: 'question.asked' }
  /** All questions were answered from the request state: the handler goes on. */
  | { readonly type: 'questions.answered' }
  /** The questions could not be sent: all have failed. */
  | { readonly type: 'questions.failed' }
  /** The open request was answered with the questions. */
  | { readonly type: 'questions.sent' }
  /** An answer in the request state is malformed: the client gets an error. */
  | { readonly type: 'answer.refused' }
  /** The client brings answers in a new request. */
  | { readonly type: 'retry.received' }
  /** The handler has returned or thrown. */
  | { readonly type: 'handler.settled' }
  /** The handler has thrown the error that a person must open URLs first. */
  | { readonly type: 'urls.demanded' }
  /** The open request was answered with the URLs, or with an error. */
  | { readonly type: 'urls.sent' }
  | { readonly type: 'urls.failed' }
  /** The client has cancelled the open request, or the call is given up. */
  | { readonly type: 'call.cancelled' };

/** What a state means outside the machine. */
export type SuspendableCallTag =
  /** A request is open: it is answered when the call ends or asks. */
  | 'open'
  /** The client has been asked, and its retry has not come. */
  | 'suspended'
  /** The handler may ask. */
  | 'asking'
  /** The handler's outcome no longer matters. */
  | 'over'
  /** The call ended before its handler: the signal fires. */
  | 'aborted'
  /** A retry runs the handler from its start. */
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
      description: 'A request is open, and the handler has no question.',
      tags: ['open', 'asking'],
      on: {
        'question.asked': 'gathering',
        'handler.settled': 'ended',
        'urls.demanded': 'demanding',
        'call.cancelled': 'cancelled',
      },
    },
    gathering: {
      description:
        'The handler has asked. Questions that come until the request is answered go along.',
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
      description: 'No request is open: the client was asked, and may come back.',
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
          description: 'The handler did not wait for its answers. The retry gets what came of it.',
          tags: 'asking',
          on: { 'retry.received': '#suspendable-call.ended' },
        },
        demanded: {
          description: 'The handler did not wait for its answers. The retry is asked to open URLs.',
          tags: 'asking',
          on: { 'retry.received': '#suspendable-call.demanding' },
        },
      },
      on: { 'call.cancelled': 'cancelled' },
    },
    demanding: {
      description: 'The handler has ended. The open request is answered with the URLs to open.',
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
      description: 'Nobody waits for what the handler comes to.',
      tags: ['over', 'aborted'],
    },
    refused: {
      type: 'final',
      description:
        'The client hears what is wrong with an answer. Its next retry runs the handler anew.',
      tags: ['over', 'aborted', 'void'],
    },
    void: {
      type: 'final',
      description: 'The handler has done nothing yet. The retry runs it anew.',
      tags: ['over', 'void'],
    },
  },
});

/** The state of a call. Calls in the same state share one snapshot. */
export type SuspendableCallSnapshot = SnapshotFrom<typeof suspendableCallMachine>;

export const suspendableCallChart: PureChart<SuspendableCallSnapshot, SuspendableCallEvent> =
  pureChart(suspendableCallMachine);
