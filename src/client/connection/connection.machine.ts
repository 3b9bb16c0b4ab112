/**
 * The lifecycle of a host's connection to one server: when a channel is opened, which era the
 * server speaks, and what happens after a loss.
 *
 * Ordinary messages never come here. A channel is opened only once nothing is left of its
 * predecessor, so that a connection never has two processes.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility"
 */
import { and } from 'xstate';
import { connectionSetup, lossBy, profileFrom } from './connection-states.ts';
import { anyActorFailed } from '../../machines/names.ts';

/** The server is launched once more, and greeted without a probe. */
const launchedUnprobed = [
  'supposeLegacy',
  'beginExtraLaunch',
  'tellProbeEnded',
  'settleRequests',
  'closeChannel',
] as const;

/** A connection's actor logic. `client/connection` provides its actors. */
export const connectionMachine = connectionSetup.createMachine({
  id: 'connection',
  context: ({ input, spawn }) => ({
    ...input,
    correlation: spawn('correlation', { id: 'correlation', input: { scope: input.scope } }),
    channel: undefined,
    messaging: undefined,
    profile: undefined,
    loss: undefined,
    attempts: 0,
    extraLaunch: 'unspent',
    launches: 0,
    delayMs: 0,
    output: 'flowing',
    reading: 'open',
  }),
  initial: 'closed',
  on: {
    'input.ended': { actions: 'askChannel' },
    'output.broken': { actions: 'askChannel' },
    'output.blocked': { actions: 'tellFlow' },
    'output.flowing': { actions: 'tellFlow' },
    'reading.pause': { actions: 'pauseReading' },
    'reading.resume': { actions: 'resumeReading' },
    // A host waits for neither its output nor its answers, and has no streams.
    'calls.drained': {},
    'calls.running': {},
    'output.flushed': {},
    'output.stalled': {},
    'ownStream.opened': {},
    'ownStream.closed': {},
    'login.changed': { actions: ['forgetDiscovery', 'tellLoginChanged'] },
    [anyActorFailed]: {
      target: '.lost.cleared',
      actions: [{ type: 'noteLoss', params: lossBy.failure }, 'dropChannel'],
    },
  },
  states: {
    closed: {
      description: 'Nothing of it is there.',
      always: { guard: and(['isOpenedOnce', 'isUsed']), target: 'ended' },
      on: {
        'connection.open': 'connecting',
        'connection.close': { guard: 'isOpenedOnce', target: 'ended' },
      },
    },
    connecting: {
      initial: 'timed',
      on: {
        'connection.close': 'stopping',
        'connection.reopen': {
          target: '.timed.clearing',
          actions: [
            { type: 'noteLoss', params: lossBy.request },
            'clearCounts',
            'settleRequests',
            'closeChannel',
          ],
        },
        'channel.lost': {
          target: 'lost',
          actions: [{ type: 'noteLoss', params: lossBy.told }, 'doubtEra'],
        },
        'channel.stopped': {
          target: 'lost.cleared',
          actions: [{ type: 'noteLoss', params: lossBy.stop }, 'dropChannel'],
        },
      },
      states: {
        timed: {
          description: 'The server has to be ready within a time.',
          meta: { isNameless: true },
          initial: { target: 'opening', actions: 'openChannel' },
          after: {
            connectTimeout: {
              target: '#connection.lost',
              actions: [{ type: 'noteLoss', params: lossBy.timeout }, 'doubtEra'],
            },
          },
          onDone: '#connection.ready',
          on: { 'channel.challenged': 'authorizing' },
          states: {
            clearing: {
              description: 'The channel before is being ended: no two are ever there.',
              on: {
                'channel.stopped': { target: 'opening', actions: ['dropChannel', 'openChannel'] },
                'channel.lost': {},
              },
            },
            opening: {
              // A login that was requested before the channel was open returns here: it is the same
              // login.
              on: {
                'channel.opened': [
                  {
                    guard: 'isKnown',
                    target: 'greeted',
                    actions: [
                      { type: 'startMessaging', params: ({ event }) => event },
                      'keepPaused',
                      'offerWriter',
                      { type: 'settle', params: profileFrom.memory },
                    ],
                  },
                  {
                    guard: 'isLegacy',
                    target: 'greeting',
                    actions: [
                      { type: 'startMessaging', params: ({ event }) => event },
                      'keepPaused',
                      'offerWriter',
                      { type: 'sendGreeting', params: { behind: 'nothing' } },
                    ],
                  },
                  {
                    target: 'probing',
                    actions: [
                      { type: 'startMessaging', params: ({ event }) => event },
                      'keepPaused',
                      'offerWriter',
                      'sendProbe',
                    ],
                  },
                ],
              },
            },
            probing: {
              description: 'The server is asked which era it is of.',
              on: {
                'era.found': [
                  {
                    guard: { type: 'isFoundModern', params: ({ event }) => event },
                    target: 'greeted',
                    actions: { type: 'settle', params: profileFrom.answer },
                  },
                  {
                    guard: 'mayBeLegacy',
                    target: 'greeting.probed',
                    actions: [
                      'takeForLegacy',
                      { type: 'sendGreeting', params: { behind: 'nothing' } },
                    ],
                  },
                  {
                    target: '#connection.lost',
                    actions: { type: 'noteLoss', params: lossBy.otherEra },
                  },
                ],
                'era.refused': {
                  target: '#connection.lost',
                  actions: { type: 'noteLoss', params: lossBy.refusal },
                },
                'channel.lost': [
                  {
                    guard: and(['isPipe', 'mayBeLegacy', 'hasExtraLaunch']),
                    target: 'clearing',
                    actions: [{ type: 'noteLoss', params: lossBy.told }, ...launchedUnprobed],
                  },
                  {
                    guard: and(['isPipe', 'mayBeLegacy']),
                    target: '#connection.lost',
                    actions: [{ type: 'noteLoss', params: lossBy.told }, 'supposeLegacy'],
                  },
                  {
                    target: '#connection.lost',
                    actions: { type: 'noteLoss', params: lossBy.told },
                  },
                ],
              },
              after: {
                probeTimeout: {
                  guard: 'mayGreetUnanswered',
                  target: 'greeting.unanswered',
                  actions: { type: 'sendGreeting', params: { behind: 'probe' } },
                },
              },
            },
            greeting: {
              description: '`initialize` is sent; behind a probe that is pending, if there is one.',
              on: {
                'greeting.accepted': {
                  target: 'greeted',
                  actions: { type: 'settle', params: profileFrom.answer },
                },
                'greeting.refused': {
                  target: '#connection.lost',
                  actions: [{ type: 'noteLoss', params: lossBy.refusal }, 'forgetEra'],
                },
              },
              initial: 'unprobed',
              states: {
                unprobed: {
                  description: 'Its era was known, or supposed.',
                  meta: { isNameless: true },
                  on: {
                    'greeting.accepted': {
                      target: '#connection.connecting.timed.greeted',
                      actions: [{ type: 'settle', params: profileFrom.answer }, 'tellEraProven'],
                    },
                    'greeting.refused': {
                      guard: 'isSupposed',
                      target: '#connection.connecting.timed.probing',
                      actions: ['forgetEra', 'sendProbe'],
                    },
                  },
                },
                unanswered: {
                  description: 'The probe may still be answered.',
                  meta: { isNameless: true },
                  on: {
                    'era.found': [
                      {
                        guard: { type: 'isFoundModern', params: ({ event }) => event },
                        target: '#connection.connecting.timed.greeted',
                        actions: { type: 'settle', params: profileFrom.answer },
                      },
                      { target: 'probed' },
                    ],
                    'era.refused': 'probed',
                    'greeting.refused': {
                      target: '#connection.connecting.timed.reconsidering',
                      actions: { type: 'noteLoss', params: lossBy.refusal },
                    },
                  },
                },
                probed: {
                  description: 'The probe is answered. It may be why the greeting is refused.',
                  meta: { isNameless: true },
                  on: {
                    'greeting.refused': {
                      guard: { type: 'mayLaunchUnprobed', params: lossBy.refusal },
                      target: '#connection.connecting.timed.clearing',
                      actions: [{ type: 'noteLoss', params: lossBy.refusal }, ...launchedUnprobed],
                    },
                  },
                },
              },
            },
            reconsidering: {
              description: '`initialize` was refused, and the probe is still to be answered.',
              on: {
                'era.found': [
                  {
                    guard: { type: 'isFoundModern', params: ({ event }) => event },
                    target: 'greeted',
                    actions: { type: 'settle', params: profileFrom.answer },
                  },
                  {
                    guard: { type: 'mayLaunchUnprobed', params: ({ context }) => context },
                    target: 'clearing',
                    actions: launchedUnprobed,
                  },
                  { target: '#connection.lost', actions: 'forgetEra' },
                ],
                'era.refused': {
                  target: '#connection.lost',
                  actions: { type: 'noteLoss', params: lossBy.refusal },
                },
              },
              after: {
                reconsiderTimeout: {
                  guard: { type: 'mayLaunchUnprobed', params: ({ context }) => context },
                  target: 'clearing',
                  actions: launchedUnprobed,
                },
              },
            },
            greeted: { type: 'final' },
            interrupted: { type: 'history', history: 'deep' },
          },
        },
        authorizing: {
          description: 'The channel sees to a login; a person may be asked.',
          on: { 'channel.authorized': 'timed.interrupted' },
          after: {
            loginTimeout: {
              target: '#connection.lost',
              actions: { type: 'noteLoss', params: lossBy.noLogin },
            },
          },
        },
      },
    },
    ready: {
      entry: 'tellReady',
      initial: 'fresh',
      on: {
        'channel.lost': {
          target: 'lost',
          actions: { type: 'noteLoss', params: lossBy.told },
        },
        'channel.stopped': {
          target: 'lost.cleared',
          actions: [{ type: 'noteLoss', params: lossBy.stop }, 'dropChannel'],
        },
        'session.expired': {
          target: 'connecting.timed.greeting',
          actions: [
            'countSession',
            'holdRequests',
            'beginHandshake',
            { type: 'sendGreeting', params: { behind: 'nothing' } },
          ],
        },
        'era.found': {
          guard: { type: 'isFoundModern', params: ({ event }) => event },
          actions: ['learnModern', 'tellEraLearnt'],
        },
        'login.changed': [
          {
            guard: 'isServedModern',
            target: 'connecting.timed.probing',
            actions: [
              'holdRequests',
              'forgetDiscovery',
              'tellLoginChanged',
              'beginHandshake',
              'sendProbe',
            ],
          },
          // The session goes on: the request itself told the server who is logged in.
          { actions: ['tellLoginChanged', 'tellReady'] },
        ],
        'connection.reopen': {
          target: 'connecting.timed.clearing',
          actions: [
            { type: 'noteLoss', params: lossBy.request },
            'clearCounts',
            'tellLoss',
            'giveUpRequests',
            'withdrawAsked',
            'flushPipe',
            'closeChannel',
          ],
        },
        'connection.close': 'stopping',
      },
      states: {
        fresh: {
          description: 'A server that greets and dies would be started for ever if this counted.',
          after: { stableTimeout: { target: 'stable', actions: 'clearCounts' } },
        },
        stable: {},
      },
    },
    lost: {
      description: 'What is left of the channel is ended before anything else.',
      entry: ['countExtraLaunch', 'tellLoss', 'settleRequests', 'withdrawAsked', 'closeChannel'],
      initial: 'clearing',
      onDone: [
        { guard: 'mayRetry', target: 'backoff', actions: 'countAttempt' },
        { target: 'failed' },
      ],
      states: {
        clearing: {
          meta: { isNameless: true },
          on: {
            'channel.stopped': { target: 'cleared', actions: 'dropChannel' },
            'connection.reopen': {
              target: '#connection.connecting.timed.clearing',
              actions: 'clearCounts',
            },
            'connection.close': '#connection.stopping',
          },
        },
        cleared: { type: 'final', meta: { isNameless: true } },
      },
    },
    backoff: {
      after: { backoffTimeout: 'connecting' },
      on: {
        'connection.wanted': { guard: 'mayJustTry', target: 'connecting' },
        'connection.reopen': { target: 'connecting', actions: 'clearCounts' },
        'connection.close': { target: 'closed', actions: ['endRequests', 'tellClosed'] },
      },
    },
    failed: {
      entry: ['refuseRequests', 'tellFailure'],
      on: {
        'connection.reopen': { target: 'connecting', actions: ['clearCounts', 'settleRequests'] },
        'connection.close': { target: 'closed', actions: ['endRequests', 'tellClosed'] },
      },
    },
    stopping: {
      entry: ['endRequests', 'withdrawAsked', 'flushPipe', 'closeChannel'],
      on: {
        'channel.stopped': { target: 'closed', actions: ['dropChannel', 'tellClosed'] },
        [anyActorFailed]: { target: 'closed', actions: ['dropChannel', 'tellClosed'] },
      },
    },
    ended: { type: 'final', description: 'Closed for good: it was to be opened once.' },
  },
  output: ({ context }) => ({ loss: context.loss }),
});
