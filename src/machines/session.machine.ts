/**
 * Lifecycle of a session: protocol era, handshake, operation, drain.
 *
 * Ordinary messages bypass this machine. It opens and closes the gates of the actors that carry them.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility"
 */
import { and, assign, emit, enqueueActions, not, or, sendTo, setup, stateIn } from 'xstate';
import { declaresRoots } from '../protocol/roots.ts';
import type { OutboundResponse } from '../protocol/frames.ts';
import {
  acceptedInitialize,
  refusedInitialize,
  refusedVersion,
} from '../protocol/initialize-answers.ts';
import { keepaliveMachine } from './keepalive.machine.ts';
import { rootsMachine, undeclaredRoots } from './roots.machine.ts';
import type { RootsUpdated } from './roots.machine.ts';
import type { UpstreamLogic, UpstreamOutcome, SessionContext } from './session-context.ts';
import type { SessionInput } from './session-context.ts';
import { unprovided, unprovidedPromise } from './port.ts';
import {
  errorResponse,
  internalError,
  serverRequestsUnsupported,
  shuttingDown,
} from '../protocol/errors.ts';
import type {
  CorrelationEvent,
  CorrelationInput,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from './peer-ports.ts';
import type {
  ClientHandshaken,
  InitializeReceived,
  SessionEmitted,
  SessionEvent,
  SessionOutput,
  SessionRouterInput,
} from './session-ports.ts';
import type { SessionTag, StateMeta } from './names.ts';
import { anyActorFailed } from './names.ts';
import { causeOf, drainTimeoutOf, endOf, endedBefore, idleFlushMs } from './session-end.ts';

export type { SessionEmitted, SessionEvent, SessionOutput } from './session-ports.ts';

/** The unanswered `initialize`. */
type PendingInitialize = SessionContext['pendingInitialize'];

/** Outcome if the session ends before the upstream is open. */
const noUpstream: UpstreamOutcome = { error: shuttingDown };

/** Response to an `initialize`, for the router. */
function answer({ request }: InitializeReceived, response: OutboundResponse): RouterEvent {
  return { type: 'lifecycle.answered', response, request };
}

/**
 * Machine of a session, with typed input, output and emitted events. `session/session-logic.ts`
 * provides its actors; hosts can provide others.
 */
export const sessionMachine = setup({
  types: {
    input: {} as SessionInput,
    context: {} as SessionContext,
    events: {} as SessionEvent,
    emitted: {} as SessionEmitted,
    output: {} as SessionOutput,
    tags: {} as SessionTag,
    meta: {} as StateMeta,
  },
  actors: {
    reader: unprovided<ReaderEvent, ReaderInput>('reader'),
    router: unprovided<RouterEvent, SessionRouterInput>('router'),
    correlation: unprovided<CorrelationEvent, CorrelationInput>('correlation'),
    writer: unprovided<WriterEvent, WriterInput>('writer'),
    roots: rootsMachine,
    keepalive: keepaliveMachine,
    upstream: unprovidedPromise('upstream') as UpstreamLogic,
  },
  delays: {
    drainTimeout: ({ context }) => context.drainTimeoutMs,
    /** The remaining eighth lets cancelled handlers clean up and end their child processes. */
    settleTimeout: ({ context }) => context.drainTimeoutMs * 0.875,
    stallTimeout: ({ context }) => context.limits.stallTimeoutMs,
    idleFlushTimeout: ({ context }) => idleFlushMs(context),
  },
  guards: {
    isReadable: (_, { reading }: InitializeReceived) => reading.ok,
    hasUpstream: ({ context }) => context.hasUpstream === true,
    needsUpstream: ({ context }, { reading }: InitializeReceived) =>
      reading.ok && context.hasUpstream === true,
    isResolved: (_, { server }: UpstreamOutcome) => server !== undefined,
    isSooner: ({ context, event }) => drainTimeoutOf(event) < context.drainTimeoutMs,
    isOutputBroken: ({ context }) => context.cause?.kind === 'output-broken',
    isFailure: ({ context }) => context.cause?.kind === 'failure',
    /** Hosts with another source of roots provide their own guard. */
    hasRoots: ({ context }) => declaresRoots(context.client?.capabilities),
    hasStandaloneStream: not(stateIn('#session.open.standaloneStream.none')),
    isNegotiated: stateIn('#session.open.lifecycle.negotiated'),
    isOperating: or([
      stateIn('#session.open.lifecycle.initialized'),
      stateIn('#session.open.lifecycle.rootsKnown'),
    ]),
    wantsKeepalive: ({ context }) => context.limits.keepaliveIntervalMs > 0,
    /** True for a retransmission of a slow `initialize`; any other second one is a client error. */
    isRetransmission: ({ context }, { reading }: InitializeReceived) =>
      reading.ok && reading.client.fingerprint === context.client?.fingerprint,
  },
  actions: {
    /** Sends the response before it opens the gate. */
    negotiate: enqueueActions(
      ({ context, enqueue }, event: PendingInitialize | ClientHandshaken) => {
        if (!event) return;
        const known = event.type === 'initialize.received' ? event.reading : event;
        if (!('client' in known)) return;
        const [{ client }, { router, server }] = [known, context];
        enqueue.assign({ client, pendingInitialize: undefined });
        if (event.type === 'initialize.received') {
          const response = acceptedInitialize(event.request.id, client, server);
          enqueue.sendTo(router, answer(event, response));
        }
        enqueue.sendTo(router, { type: 'gate.opened', peer: client });
        enqueue.emit({ type: 'session.negotiated', client });
      },
    ),
    rememberInitialize: assign((_, received: InitializeReceived) =>
      received.reading.ok ? { client: received.reading.client, pendingInitialize: received } : {},
    ),
    /** Ends the session after the queued messages have been served. */
    endAfterQueuedInput: enqueueActions(({ context: { cause }, enqueue, self }) => {
      if (!cause) return;
      enqueue.sendTo(self, { type: 'input.ended' });
    }),
    assignServer: assign((_, { server }: UpstreamOutcome) => (server ? { server } : {})),
    /** Answers the pending `initialize` with an error, and ends the session unless it is ending. */
    failInitialize: enqueueActions(
      ({ context, enqueue }, { error = internalError }: UpstreamOutcome) => {
        const { cause, router, pendingInitialize } = context;
        if (!pendingInitialize) return;
        enqueue.sendTo(
          router,
          answer(pendingInitialize, errorResponse(pendingInitialize.request.id, error)),
        );
        const reason = error.message;
        enqueue.assign({
          pendingInitialize: undefined,
          cause: cause ?? { kind: 'shutdown', reason },
        });
      },
    ),
    answerAgain: enqueueActions(({ context, enqueue }, received: InitializeReceived) => {
      const { client, router, server } = context;
      const response = client && acceptedInitialize(received.request.id, client, server);
      if (response) enqueue.sendTo(router, answer(received, response));
    }),
    refuseInitialize: sendTo(
      ({ context }) => context.router,
      ({ context }, received: InitializeReceived) =>
        answer(received, refusedInitialize(received.request.id, received.reading, context)),
    ),
    /** Rejects `initialize` from a client that has used the modern era. */
    refuseVersion: sendTo(
      ({ context }) => context.router,
      (_, received: InitializeReceived) =>
        answer(received, refusedVersion(received.request.id, received.reading)),
    ),
    requireEnvelopes: sendTo(({ context }) => context.router, { type: 'envelopes.require' }),
    closeRequests: sendTo(({ context }) => context.correlation, {
      type: 'gate.closed',
      error: serverRequestsUnsupported,
    }),
    /** Opens the outbound gate before other regions send requests on the same event. */
    operate: enqueueActions(({ context, enqueue }) => {
      enqueue.sendTo(context.correlation, { type: 'gate.opened' });
      enqueue.emit({ type: 'session.initialized' });
    }),
    spawnRoots: assign({
      roots: ({ context: { scope, correlation, limits, roots }, self, spawn }) =>
        roots ??
        spawn('roots', {
          id: 'roots',
          input: {
            scope,
            session: self,
            correlation,
            timeoutMs: limits.rootsTimeoutMs,
            retryMs: limits.rootsRetryMs,
            maxOvertaken: limits.maxOvertakenRoots,
          },
        }),
    }),
    askForRoots: sendTo('roots', { type: 'roots.ask' }),
    deferRoots: sendTo('roots', { type: 'roots.defer' }),
    invalidateRoots: sendTo('roots', { type: 'roots.invalidate' }),
    publishRoots: enqueueActions(({ enqueue }, { report }: Pick<RootsUpdated, 'report'>) => {
      enqueue.assign({ report });
      enqueue.emit({ type: 'roots.updated', report });
    }),
    ignore: emit(({ event }) => ({ type: 'notification.ignored', notification: event.type })),
    recordEnd: assign(({ context, event }) => ({
      cause: context.cause ?? causeOf(event),
      drainTimeoutMs: Math.min(context.drainTimeoutMs, drainTimeoutOf(event)),
    })),
    deductFlushTime: assign({
      drainTimeoutMs: ({ context }) => context.drainTimeoutMs - idleFlushMs(context),
    }),
    // Enqueued, because the router may pause an upstream, which changes the state of another machine.
    forwardFlow: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'output.blocked' && event.type !== 'output.flowing') return;
      enqueue.sendTo(context.router, event);
      enqueue.sendTo(context.reader, event);
    }),
    closeInboundGate: sendTo(({ context }) => context.router, { type: 'gate.closed' }),
    closeOutboundGate: sendTo(
      ({ context }) => context.correlation,
      ({ context }) => ({ type: 'gate.closed', error: endedBefore(context.cause) }),
    ),
    abandonCalls: sendTo(({ context }) => context.router, { type: 'calls.abandon' }),
    flushOutput: sendTo(({ context }) => context.writer, { type: 'output.flush' }),
    flushOverdueOutput: sendTo(({ context }) => context.writer, {
      type: 'output.flush',
      after: 'stallTimeout',
    }),
  },
}).createMachine({
  id: 'session',
  context: ({ input, self, spawn }) => {
    const { scope, server, limits, hasUpstream } = input;
    const writer = spawn('writer', { id: 'writer', input: { scope, owner: self } });
    const correlation = spawn('correlation', { id: 'correlation', input: { scope, writer } });
    const router = spawn('router', {
      id: 'router',
      input: { scope, owner: self, writer, correlation },
    });
    const reader = spawn('reader', { id: 'reader', input: { scope, owner: self, router } });
    return {
      scope,
      server,
      limits,
      hasUpstream,
      writer,
      correlation,
      router,
      reader,
      roots: undefined,
      client: undefined,
      pendingInitialize: undefined,
      report: undefined,
      cause: undefined,
      drainTimeoutMs: limits.drainTimeoutMs,
    };
  },
  initial: 'open',
  on: {
    'output.blocked': { actions: 'forwardFlow' },
    'output.flowing': { actions: 'forwardFlow' },
    'initialize.received': {
      actions: { type: 'refuseInitialize', params: ({ event }) => event },
    },
    'initialized.received': { actions: 'ignore' },
    'roots.changed': { actions: 'ignore' },
  },
  states: {
    open: {
      meta: { isGroup: true },
      type: 'parallel',
      on: {
        'input.ended': 'draining',
        'output.broken': 'draining',
        'client.unresponsive': 'draining',
        'session.shutdown': 'draining',
        [anyActorFailed]: 'draining',
      },
      states: {
        lifecycle: {
          meta: { isGroup: true },
          initial: 'uninitialized',
          states: {
            uninitialized: {
              description: 'The first message of the client determines the era of the session.',
              tags: 'awaitsInitialize',
              on: {
                'initialize.received': [
                  {
                    guard: { type: 'needsUpstream', params: ({ event }) => event },
                    target: 'resolvingUpstream',
                    actions: { type: 'rememberInitialize', params: ({ event }) => event },
                  },
                  {
                    guard: { type: 'isReadable', params: ({ event }) => event },
                    target: 'negotiated',
                    actions: { type: 'negotiate', params: ({ event }) => event },
                  },
                ],
                'envelope.received': 'modern',
                'client.initializeAnswered': {
                  target: 'negotiated',
                  actions: { type: 'negotiate', params: ({ event }) => event },
                },
                'client.initialized': {
                  target: 'initialized',
                  actions: [{ type: 'negotiate', params: ({ event }) => event }, 'operate'],
                },
              },
            },
            resolvingUpstream: {
              description: 'The upstream of the client is being opened; its messages are queued.',
              tags: 'awaitsInitialize',
              entry: sendTo(({ context }) => context.router, { type: 'gate.held' }),
              invoke: {
                id: 'upstream',
                src: 'upstream',
                input: ({ context: { scope, pendingInitialize } }) => ({
                  scope,
                  received: pendingInitialize as never,
                }),
                onDone: [
                  {
                    guard: { type: 'isResolved', params: ({ event }) => event.output },
                    target: 'negotiated',
                    actions: [
                      { type: 'assignServer', params: ({ event }) => event.output },
                      { type: 'negotiate', params: ({ context }) => context.pendingInitialize },
                      'endAfterQueuedInput',
                    ],
                  },
                  {
                    target: '#session.draining',
                    actions: { type: 'failInitialize', params: ({ event }) => event.output },
                  },
                ],
              },
              on: {
                'session.shutdown': {
                  target: '#session.draining',
                  actions: ['recordEnd', { type: 'failInitialize', params: noUpstream }],
                },
                // Messages received until then are served. Opening the upstream has its own timeout.
                'input.ended': { actions: 'recordEnd' },
              },
            },
            negotiated: {
              description:
                '`initialize` is answered. The client may send requests; the server must wait for `notifications/initialized`.',
              tags: 'awaitsInitialized',
              on: {
                'initialized.received': { target: 'initialized', actions: 'operate' },
                'initialize.received': {
                  guard: { type: 'isRetransmission', params: ({ event }) => event },
                  actions: { type: 'answerAgain', params: ({ event }) => event },
                },
              },
            },
            initialized: {
              description: 'In operation; the roots are not known yet.',
              tags: 'operating',
              always: {
                guard: not('hasRoots'),
                target: 'rootsKnown',
                actions: { type: 'publishRoots', params: { report: undeclaredRoots } },
              },
              on: {
                'roots.updated': {
                  target: 'rootsKnown',
                  actions: { type: 'publishRoots', params: ({ event }) => event },
                },
              },
            },
            rootsKnown: {
              description: 'In operation; the roots, or their absence, are known.',
              tags: 'operating',
              on: {
                'roots.updated': {
                  actions: { type: 'publishRoots', params: ({ event }) => event },
                },
              },
            },
            modern: {
              description:
                'Revisions without a handshake: each request identifies its client, and the server sends no requests.',
              tags: 'stateless',
              entry: ['requireEnvelopes', 'closeRequests'],
              on: {
                'initialize.received': {
                  actions: { type: 'refuseVersion', params: ({ event }) => event },
                },
              },
            },
          },
        },
        standaloneStream: {
          description:
            'The standalone stream, for messages that are unrelated to a request of the client.',
          meta: { isHiddenRegion: true },
          initial: 'open',
          states: {
            open: {
              on: {
                'standaloneStream.closed': 'none',
                'client.initializeAnswered': 'none',
                'client.initialized': 'none',
                'initialized.received': {
                  guard: and(['wantsKeepalive', 'isNegotiated']),
                  target: 'watched',
                },
              },
            },
            watched: {
              description: 'Open, with keepalive pings.',
              on: { 'standaloneStream.closed': 'none' },
              invoke: {
                id: 'keepalive',
                src: 'keepalive',
                input: ({ context: { scope, correlation, limits }, self }) => ({
                  ...limits,
                  scope,
                  correlation,
                  session: self,
                }),
              },
            },
            none: {
              description:
                'Closed: the client only receives messages on the streams of its requests.',
              on: {
                'standaloneStream.opened': [
                  { guard: and(['wantsKeepalive', 'isOperating']), target: 'watched' },
                  'open',
                ],
              },
            },
          },
        },
        roots: {
          description: 'The roots machine of a client that declares roots.',
          meta: { isHiddenRegion: true },
          initial: 'inactive',
          states: {
            inactive: {
              description:
                'Not started: there is no standalone stream, and no call needs the roots.',
              on: {
                'initialized.received': {
                  guard: and([
                    not('hasUpstream'),
                    'isNegotiated',
                    'hasRoots',
                    'hasStandaloneStream',
                  ]),
                  target: 'active.started',
                  actions: ['spawnRoots', 'askForRoots'],
                },
                'standaloneStream.opened': {
                  guard: and([not('hasUpstream'), 'isOperating', 'hasRoots']),
                  target: 'active.started',
                  actions: ['spawnRoots', 'askForRoots'],
                },
                'roots.needed': [
                  {
                    guard: and(['isOperating', 'hasRoots']),
                    target: 'active.started',
                    actions: ['spawnRoots', 'deferRoots'],
                  },
                  { guard: 'hasRoots', target: 'active', actions: 'spawnRoots' },
                ],
                'roots.changed': { guard: and(['hasRoots', 'isOperating']) },
              },
            },
            active: {
              description: 'Started. It is notified when a query can be sent.',
              initial: 'unstarted',
              states: {
                unstarted: {
                  on: {
                    'initialized.received': [
                      { guard: 'hasStandaloneStream', target: 'started', actions: 'askForRoots' },
                      { target: 'started', actions: 'deferRoots' },
                    ],
                  },
                },
                started: {
                  on: {
                    'roots.changed': { actions: 'invalidateRoots' },
                    'roots.due': [
                      { guard: 'hasStandaloneStream', actions: 'askForRoots' },
                      { actions: 'deferRoots' },
                    ],
                    'standaloneStream.opened': {
                      guard: not('hasStandaloneStream'),
                      actions: 'askForRoots',
                    },
                    'standaloneStream.closed': {
                      guard: 'hasStandaloneStream',
                      actions: 'deferRoots',
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
    draining: {
      description: 'New requests are rejected; running calls may finish within the drain time.',
      entry: ['recordEnd', 'closeOutboundGate', 'closeInboundGate'],
      on: {
        'session.shutdown': { guard: 'isSooner', target: 'draining', reenter: true },
        'roots.needed': {
          guard: 'hasRoots',
          actions: ['spawnRoots', 'deferRoots'],
        },
        'roots.due': { guard: 'hasRoots', actions: ['spawnRoots', 'deferRoots'] },
        [anyActorFailed]: 'closed',
      },
      initial: 'idle',
      states: {
        idle: {
          description: 'Fast path: most sessions are idle when they end.',
          meta: { isGroup: true },
          // The failed actor may be the one that would reply.
          always: { guard: 'isFailure', target: 'busy' },
          initial: 'settling',
          states: {
            settling: {
              description: 'The router replies synchronously whether calls are running.',
              tags: 'settling',
              on: {
                'calls.drained': { target: 'flushing', actions: 'flushOutput' },
                'calls.running': '#session.draining.busy',
              },
            },
            flushing: {
              description: 'No call was running. The writer reports when all output is written.',
              tags: 'flushing',
              on: {
                'output.broken': '#session.closed',
                'output.flushed': '#session.closed',
                'output.stalled': '#session.closed',
              },
              after: {
                idleFlushTimeout: {
                  target: '#session.draining.busy.flushing',
                  actions: ['deductFlushTime', 'flushOverdueOutput'],
                },
              },
            },
          },
        },
        busy: {
          description: 'Calls are running or output is slow: wait, within the drain time.',
          meta: { isGroup: true },
          after: { drainTimeout: '#session.closed' },
          initial: 'settling',
          states: {
            settling: {
              tags: 'settling',
              exit: 'abandonCalls',
              always: { guard: 'isOutputBroken', target: 'aborting' },
              on: {
                'calls.drained': { target: 'flushing', actions: 'flushOutput' },
                'output.broken': 'aborting',
              },
              after: { settleTimeout: 'aborting' },
            },
            aborting: {
              description: 'The remaining calls were cancelled and clean up.',
              tags: 'aborting',
              on: { 'calls.drained': { target: 'flushing', actions: 'flushOutput' } },
            },
            flushing: {
              description:
                'The writer is polled; it reports a stall if no output was read since the last poll.',
              tags: 'flushing',
              on: {
                'output.broken': '#session.closed',
                'output.flushed': '#session.closed',
                'output.stalled': '#session.closed',
              },
              after: {
                stallTimeout: { target: 'flushing', reenter: true, actions: 'flushOverdueOutput' },
              },
            },
          },
        },
      },
    },
    closed: {
      type: 'final',
      tags: 'closed',
      entry: emit(({ context }) => ({ type: 'session.closed', cause: endOf(context.cause) })),
    },
  },
  output: ({ context }) => ({ cause: endOf(context.cause) }),
});
