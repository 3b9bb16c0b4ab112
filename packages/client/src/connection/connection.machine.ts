/**
 * Lifecycle of a connection to one server: opening channels, detecting the server's era, and
 * recovering from disconnects.
 *
 * Ordinary messages bypass this machine. A channel is opened only after its predecessor is
 * completely gone, so a connection never has two processes.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility"
 */
import { and, assign, emit, enqueueActions, sendTo, setup } from 'xstate';
import type { ErrorActorEvent } from 'xstate';
import { negotiateDialect } from '../../../../src/protocol/dialects/registry.ts';
import type { PeerDescription } from '../../../../src/protocol/initialize.ts';
import { ErrorCode, RuntimeError } from '../../../../src/protocol/errors.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type {
  ConnectionContext,
  ConnectionInput,
  Era,
  HandshakeEvent,
  HandshakeInput,
  ServerProfile,
} from './connection-context.ts';
import type {
  ConnectionEmitted,
  ConnectionMachineEvent,
  ConnectionOutput,
} from './connection-events.ts';
import { closedByHost, failureOf, forbidsRetry } from '../../../../src/protocol/disconnects.ts';
import type { ChannelEvent, ChannelInput } from '../channel/connection-ports.ts';
import type { ConnectionLoss } from '../../../../src/protocol/disconnects.ts';
import type {
  CorrelationEvent,
  InputScope,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  RouterInput,
  TransportActors,
  WriterEvent,
  WriterInput,
} from '../../../../src/machines/peer-ports.ts';
import { unprovided } from '../../../../src/machines/port.ts';
import { delayBefore } from '../channel/restart-policy.ts';
import { anyActorFailed } from '../../../../src/machines/names.ts';
import type { StateMeta } from '../../../../src/machines/names.ts';

const initialized = { jsonrpc: '2.0', method: Method.initialized } as const;

function hasAttemptLeft({ attempts, restart }: ConnectionContext): boolean {
  return delayBefore(attempts + 1, restart, () => 0) !== 'give-up';
}

/** Upper bound on a server's `Retry-After`, ms. */
const longestAskedMs = 60_000;

/** Delay requested by the server, ms. */
function askedMs({ loss }: ConnectionContext): number {
  const asked = loss?.kind === 'http' ? loss.retryAfterMs : undefined;
  return Math.min(asked ?? 0, longestAskedMs);
}

/** A legacy server as the router's peer. */
function peerOf({ revision, info, capabilities }: ServerProfile): PeerDescription {
  const dialect = negotiateDialect(revision);
  return { dialect, requestedVersion: revision, info, capabilities };
}

interface Said {
  readonly context: ConnectionContext;
  readonly event: ConnectionMachineEvent;
}

/** Extracts the server's profile from an event. */
const profileFrom = {
  memory: ({ context: { era } }: Said) => ({
    profile: era.kind === 'modern' ? era.profile : undefined,
  }),
  answer: ({ event }: Said) => ({ profile: 'profile' in event ? event.profile : undefined }),
};

interface WithLoss {
  readonly loss: ConnectionLoss;
}

/** Extracts a loss from an event. */
const lossBy = {
  told: ({ event }: { readonly event: WithLoss }): WithLoss => event,
  /** Adds text that the server printed to stdout, which may explain the exit. */
  toldBeforeReady: ({
    event: { loss },
    context: { unreadInput },
  }: {
    readonly event: WithLoss;
    readonly context: Pick<Said['context'], 'unreadInput'>;
  }): WithLoss => {
    if (loss.kind !== 'exited') return { loss };
    const unread = unreadInput?.();
    return { loss: unread === undefined ? loss : { ...loss, unread } };
  },
  timeout: ({ context: { times, lastWords, unreadInput } }: Said): WithLoss => {
    const [stderr, unread] = [lastWords?.(), unreadInput?.()];
    return {
      loss: {
        kind: 'timeout',
        timeoutMs: times.connectTimeoutMs,
        ...(stderr === undefined ? {} : { stderr }),
        ...(unread === undefined ? {} : { unread }),
      },
    };
  },
  /** The channel stopped without a reason. */
  stop: (): WithLoss => ({ loss: { kind: 'input-ended' } }),
  refusal: ({ event }: Said): WithLoss => {
    const said = 'error' in event ? event.error : undefined;
    return {
      loss: { kind: 'refused', error: said instanceof Error ? said : new Error(event.type) },
    };
  },
  failure: ({ event }: { readonly event: ErrorActorEvent }): WithLoss => ({
    loss: { kind: 'failure', error: event.error },
  }),
  noLogin: (): WithLoss => {
    const error = new Error('The login did not complete within loginTimeoutMs');
    return { loss: { kind: 'unauthorized', error } };
  },
  otherEra: (): WithLoss => {
    const message =
      'The server does not support server/discover, but the host requires a modern server';
    return { loss: { kind: 'refused', error: new RuntimeError('VERSION_UNSUPPORTED', message) } };
  },
  request: (): WithLoss => ({ loss: { kind: 'reconnect' } }),
};

/** Types and implementations of the chart. */
const connectionSetup = setup({
  types: {
    input: {} as ConnectionInput,
    context: {} as ConnectionContext,
    events: {} as ConnectionMachineEvent,
    emitted: {} as ConnectionEmitted,
    output: {} as ConnectionOutput,
    meta: {} as StateMeta,
  },
  actors: {
    channel: unprovided<ChannelEvent, ChannelInput>('channel'),
    reader: unprovided<ReaderEvent, ReaderInput>('reader'),
    writer: unprovided<WriterEvent, WriterInput>('writer'),
    router: unprovided<RouterEvent, RouterInput>('router'),
    correlation: unprovided<CorrelationEvent, InputScope>('correlation'),
    handshake: unprovided<HandshakeEvent, HandshakeInput>('handshake'),
  },
  delays: {
    connectTimeout: ({ context }) => context.times.connectTimeoutMs,
    probeTimeout: ({ context }) => context.times.probeMs,
    /** The decisive response may arrive after another one. */
    reconsiderTimeout: ({ context }) => Math.max(context.times.probeMs, 1000),
    loginTimeout: ({ context }) => context.times.loginTimeoutMs,
    stableTimeout: ({ context }) => (context.restart === 'none' ? 0 : context.restart.stableMs),
    backoffTimeout: ({ context }) => context.delayMs,
  },
  guards: {
    isOpenedOnce: ({ context }) => context.opens === 'once',
    isUsed: ({ context }) => context.launches > 0,
    isLegacy: ({ context }) => context.era.kind === 'legacy',
    /** A launched process is known to exist; an endpoint proves itself only by responding. */
    isKnown: ({ context: { era, shows } }) =>
      shows === 'pipe' && era.kind === 'modern' && era.profile !== undefined,
    /** Without a session to re-create, the request can simply be tried. */
    mayJustTry: ({ context: { shows, era, loss } }) =>
      shows === 'answer' && era.kind === 'modern' && loss?.kind === 'unreachable',
    mayBeLegacy: ({ context }) => context.wanted !== 'modern',
    /** A server known to be modern is waited for. */
    mayGreetUnanswered: ({ context: { shows, wanted, era } }) =>
      shows === 'pipe' && wanted !== 'modern' && era.kind !== 'modern',
    /**
     * The probe may have made the server reject `initialize`, unless the server rejected the
     * revision or does not know the method; a legacy server knows it.
     */
    mayLaunchUnprobed: (
      { context: { shows, extraLaunch } },
      { loss }: { readonly loss: ConnectionLoss | undefined },
    ) =>
      shows === 'pipe' &&
      extraLaunch === 'unspent' &&
      loss?.kind === 'refused' &&
      loss.error instanceof RuntimeError &&
      loss.error.remote !== undefined &&
      loss.error.remote.code !== ErrorCode.methodNotFound &&
      loss.error.code !== 'VERSION_UNSUPPORTED',
    isSupposed: ({ context: { era } }) =>
      era.kind === 'legacy' && (era.by === 'memory' || era.by === 'end'),
    hasExtraLaunch: ({ context }) => context.extraLaunch === 'unspent',
    isPipe: ({ context }) => context.shows === 'pipe',
    isServedModern: ({ context }) => context.profile?.era === 'modern',
    isFoundModern: (_, { era }: { readonly era: Era }) => era === 'modern',
    mayRetry: ({ context }) =>
      !(context.loss && forbidsRetry(context.loss)) && hasAttemptLeft(context),
  },
  actions: {
    openChannel: assign({
      channel: ({ context: { scope }, self, spawn }) =>
        spawn('channel', { id: 'channel', input: { scope, connection: self } }),
      launches: ({ context }) => context.launches + 1,
    }),
    /** A new session over the same channel counts as a launch. */
    countSession: assign({ launches: ({ context }) => context.launches + 1 }),
    closeChannel: enqueueActions(({ context, enqueue }) => {
      if (context.channel) enqueue.sendTo(context.channel, { type: 'channel.close' });
    }),
    dropChannel: enqueueActions(({ context, enqueue }) => {
      const { channel, messaging } = context;
      if (messaging) {
        enqueue.stopChild(messaging.handshake);
        enqueue.stopChild(messaging.reader);
        enqueue.stopChild(messaging.router);
        enqueue.stopChild(messaging.writer);
      }
      if (channel) enqueue.stopChild(channel);
      enqueue.assign({ channel: undefined, messaging: undefined, output: 'flowing' });
    }),
    startMessaging: assign({
      messaging: (
        { context: { scope, correlation }, self, spawn },
        { ends }: { readonly ends: TransportActors },
      ) => {
        const ofChannel = { scope, owner: self, ends };
        const writer = spawn('writer', { id: 'writer', input: ofChannel });
        const router = spawn('router', {
          id: 'router',
          input: { scope, owner: self, writer, correlation },
        });
        const handshake = spawn('handshake', {
          id: 'handshake',
          input: { scope, connection: self, correlation },
        });
        const reader = spawn('reader', { id: 'reader', input: { ...ofChannel, router } });
        return { writer, router, handshake, reader };
      },
    }),
    offerWriter: enqueueActions(({ context: { correlation, messaging }, enqueue }) => {
      if (!messaging) return;
      enqueue.sendTo(correlation, { type: 'channel.opened', writer: messaging.writer });
    }),
    sendProbe: enqueueActions(({ context, enqueue }) => {
      const { handshake } = context.messaging ?? {};
      if (handshake) enqueue.sendTo(handshake, { type: 'handshake.probe' });
    }),
    sendGreeting: enqueueActions(
      ({ context, enqueue }, { behind }: { readonly behind: 'probe' | 'nothing' }) => {
        const { handshake } = context.messaging ?? {};
        if (handshake) enqueue.sendTo(handshake, { type: 'handshake.greet', behind });
      },
    ),
    takeForLegacy: assign({ era: { kind: 'legacy', by: 'server' } }),
    supposeLegacy: assign({ era: { kind: 'legacy', by: 'end' } }),
    /** The server announced itself as modern after a legacy `initialize`. */
    learnModern: assign({ era: { kind: 'modern' } }),
    tellEraLearnt: emit({ type: 'era.learnt' }),
    tellEraProven: emit({ type: 'era.proven' }),
    /** The server did not become ready in this era either, so its era is unknown again. */
    doubtEra: assign(({ context: { era, wanted } }) => {
      const isSupposed =
        era.kind === 'legacy'
          ? era.by === 'end'
          : era.kind === 'modern' && era.profile === undefined && wanted === undefined;
      return isSupposed ? { era: { kind: 'unknown' } } : {};
    }),
    forgetEra: assign(({ context: { wanted } }) => ({
      era: wanted === 'legacy' ? { kind: 'legacy', by: 'host' } : { kind: 'unknown' },
    })),
    /** The channel must know the revision first: over HTTP each request carries it. */
    settle: enqueueActions(
      ({ context, enqueue }, { profile }: { readonly profile: ServerProfile | undefined }) => {
        const { channel, messaging, correlation } = context;
        if (!profile || !channel || !messaging) return;
        const { era, revision } = profile;
        enqueue.assign({
          profile,
          loss: undefined,
          extraLaunch: context.extraLaunch === 'underway' ? 'spent' : context.extraLaunch,
          era: era === 'legacy' ? { kind: 'legacy', by: 'server' } : { kind: 'modern', profile },
        });
        enqueue.sendTo(channel, { type: 'channel.negotiated', revision });
        if (era === 'legacy') {
          enqueue.sendTo(messaging.writer, { type: 'frames.send', frames: [initialized] });
          enqueue.sendTo(messaging.router, { type: 'gate.opened', peer: peerOf(profile) });
        } else {
          enqueue.sendTo(messaging.router, { type: 'envelopes.require' });
        }
        enqueue.sendTo(correlation, { type: 'gate.opened' });
      },
    ),
    holdRequests: sendTo(({ context }) => context.correlation, { type: 'gate.held' }),
    /** Requests sent to the previous process can no longer be answered. */
    settleRequests: sendTo(
      ({ context }) => context.correlation,
      ({ context }) => ({ type: 'channel.lost', error: failureOf(context.loss) }),
    ),
    refuseRequests: sendTo(
      ({ context }) => context.correlation,
      ({ context }) => ({ type: 'gate.closed', error: failureOf(context.loss) }),
    ),
    /**
     * Cancels the server's running calls. A server behind a pipe would otherwise keep working until
     * terminated; over HTTP the end of the session or requests has the same effect.
     */
    endRequests: enqueueActions(({ context, enqueue }) => {
      const { correlation, shows } = context;
      const peer = shows === 'pipe' ? 'told' : undefined;
      enqueue.sendTo(correlation, { type: 'gate.closed', error: closedByHost, peer });
    }),
    /** Like {@link endRequests}, but unsent requests stay queued. */
    giveUpRequests: enqueueActions(({ context, enqueue }) => {
      const { correlation, shows, loss } = context;
      const peer = shows === 'pipe' ? 'told' : undefined;
      enqueue.sendTo(correlation, { type: 'channel.lost', error: failureOf(loss), peer });
    }),
    /** All queued output is written before the server's input is closed. */
    flushPipe: enqueueActions(({ context: { messaging, shows }, enqueue }) => {
      if (messaging && shows === 'pipe') {
        enqueue.sendTo(messaging.writer, { type: 'output.flush' });
      }
    }),
    /** The server no longer waits for answers to its requests. */
    withdrawAsked: enqueueActions(({ context, enqueue }) => {
      if (!context.messaging) return;
      enqueue.sendTo(context.messaging.router, { type: 'gate.closed' });
      enqueue.sendTo(context.messaging.router, { type: 'calls.abandon' });
    }),
    noteLoss: assign((_, { loss }: { readonly loss: ConnectionLoss }) => ({ loss })),
    tellLoss: enqueueActions(({ context, enqueue }) => {
      if (context.loss) enqueue.emit({ type: 'connection.lost', loss: context.loss });
    }),
    tellFailure: enqueueActions(({ context, enqueue }) => {
      if (context.loss) enqueue.emit({ type: 'connection.failed', loss: context.loss });
    }),
    /** A modern server may describe itself differently to each caller. */
    forgetDiscovery: assign(({ context: { era } }) =>
      era.kind === 'modern' ? { era: { kind: 'modern' } } : {},
    ),
    tellLoginChanged: emit({ type: 'login.changed' }),
    tellProbeEnded: emit({ type: 'probe.ended' }),
    tellClosed: emit({ type: 'connection.closed' }),
    tellReady: enqueueActions(({ context, enqueue }) => {
      if (context.profile) enqueue.emit({ type: 'connection.ready', profile: context.profile });
    }),
    countAttempt: assign(({ context }) => {
      const attempts = context.attempts + 1;
      const delay = delayBefore(attempts, context.restart, context.random);
      return { attempts, delayMs: delay === 'give-up' ? 0 : Math.max(delay, askedMs(context)) };
    }),
    beginExtraLaunch: assign({ extraLaunch: 'underway' }),
    countExtraLaunch: assign(({ context }) =>
      context.extraLaunch === 'underway'
        ? { extraLaunch: 'spent', attempts: context.attempts + (hasAttemptLeft(context) ? 1 : 0) }
        : {},
    ),
    clearCounts: assign({ attempts: 0, extraLaunch: 'unspent' }),
    askChannel: ({ context, event }) => {
      if (event.type === 'input.ended' || event.type === 'output.broken') {
        context.channel?.send(event);
      }
    },
    tellFlow: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'output.blocked' && event.type !== 'output.flowing') return;
      enqueue.assign({ output: event.type === 'output.blocked' ? 'blocked' : 'flowing' });
      if (!context.messaging) return;
      enqueue.sendTo(context.messaging.router, event);
      if (event.type === 'output.flowing' && context.reading === 'paused') return;
      enqueue.sendTo(context.messaging.reader, event);
    }),
    pauseReading: enqueueActions(({ context: { messaging }, enqueue }) => {
      enqueue.assign({ reading: 'paused' });
      if (messaging) enqueue.sendTo(messaging.reader, { type: 'output.blocked' });
    }),
    resumeReading: enqueueActions(({ context: { messaging, output }, enqueue }) => {
      enqueue.assign({ reading: 'open' });
      if (messaging && output === 'flowing')
        enqueue.sendTo(messaging.reader, { type: 'output.flowing' });
    }),
    /** The reader of a new channel starts paused; its read-ahead has room for the handshake. */
    keepPaused: enqueueActions(({ context: { messaging, reading }, enqueue }) => {
      if (messaging && reading === 'paused')
        enqueue.sendTo(messaging.reader, { type: 'output.blocked' });
    }),
  },
});

/** Launches the server again, and initializes it without a probe. */
const launchedUnprobed = [
  'supposeLegacy',
  'beginExtraLaunch',
  'tellProbeEnded',
  'settleRequests',
  'closeChannel',
] as const;

/** Actor logic of a connection. `client/connection` provides its actors. */
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
    // A host waits for neither output nor answers, and has no streams.
    'calls.drained': {},
    'calls.running': {},
    'output.flushed': {},
    'output.stalled': {},
    'standaloneStream.opened': {},
    'standaloneStream.closed': {},
    'login.changed': { actions: ['forgetDiscovery', 'tellLoginChanged'] },
    [anyActorFailed]: {
      target: '.lost.cleared',
      actions: [{ type: 'noteLoss', params: lossBy.failure }, 'dropChannel'],
    },
  },
  states: {
    closed: {
      description: 'No channel.',
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
          actions: [{ type: 'noteLoss', params: lossBy.toldBeforeReady }, 'doubtEra'],
        },
        'channel.stopped': {
          target: 'lost.cleared',
          actions: [{ type: 'noteLoss', params: lossBy.stop }, 'dropChannel'],
        },
      },
      states: {
        timed: {
          description: 'The server must become ready before the timeout.',
          meta: { isGroup: true },
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
              description: 'The previous channel is shutting down; two never overlap.',
              on: {
                'channel.stopped': { target: 'opening', actions: ['dropChannel', 'openChannel'] },
                'channel.lost': {},
              },
            },
            opening: {
              // A login requested before the channel opened returns here.
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
              description: 'Probing the server for its era.',
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
                    actions: [
                      { type: 'noteLoss', params: lossBy.toldBeforeReady },
                      ...launchedUnprobed,
                    ],
                  },
                  {
                    guard: and(['isPipe', 'mayBeLegacy']),
                    target: '#connection.lost',
                    actions: [
                      { type: 'noteLoss', params: lossBy.toldBeforeReady },
                      'supposeLegacy',
                    ],
                  },
                  {
                    target: '#connection.lost',
                    actions: { type: 'noteLoss', params: lossBy.toldBeforeReady },
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
              description: '`initialize` is sent, possibly behind a pending probe.',
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
                  description: 'The era was known or assumed.',
                  meta: { isGroup: true },
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
                  meta: { isGroup: true },
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
                  description:
                    'The probe is answered; it may be the reason for rejecting `initialize`.',
                  meta: { isGroup: true },
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
              description: '`initialize` was rejected, and the probe is still pending.',
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
          description: 'The channel is logging in, possibly asking a person.',
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
            actions: ['holdRequests', 'forgetDiscovery', 'tellLoginChanged', 'sendProbe'],
          },
          // The session continues: the request itself told the server who is logged in.
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
          description:
            'Not counted as success: a server that crashes after initializing would restart forever.',
          after: { stableTimeout: { target: 'stable', actions: 'clearCounts' } },
        },
        stable: {},
      },
    },
    lost: {
      description: 'The lost channel is shut down first.',
      entry: ['countExtraLaunch', 'tellLoss', 'settleRequests', 'withdrawAsked', 'closeChannel'],
      initial: 'clearing',
      onDone: [
        { guard: 'mayRetry', target: 'backoff', actions: 'countAttempt' },
        { target: 'failed' },
      ],
      states: {
        clearing: {
          meta: { isGroup: true },
          on: {
            'channel.stopped': { target: 'cleared', actions: 'dropChannel' },
            'connection.reopen': {
              target: '#connection.connecting.timed.clearing',
              actions: 'clearCounts',
            },
            'connection.close': '#connection.stopping',
          },
        },
        cleared: { type: 'final', meta: { isGroup: true } },
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
    ended: { type: 'final', description: 'Closed for good: the connection opens only once.' },
  },
  output: ({ context }) => ({ loss: context.loss }),
});
