/**
 * The lifecycle of one session: which era it speaks, and what may happen when.
 *
 * Ordinary messages never come here. The machine opens and closes the gates of its actors, which
 * carry the messages.
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
import type { Preparation, PreparationOutcome, SessionContext } from './session-context.ts';
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
  ClientGreeted,
  InitializeReceived,
  SessionEmitted,
  SessionEvent,
  SessionOutput,
  SessionRouterInput,
} from './session-ports.ts';
import type { SessionTag, StateMeta } from './names.ts';
import { anyActorFailed } from './names.ts';
import { causeOf, drainTimeoutOf, endOf, endedBefore, promptMs } from './session-end.ts';

export type { SessionEmitted, SessionEvent, SessionOutput } from './session-ports.ts';

/** The `initialize` that waits for an answer. */
type Greeting = SessionContext['greeting'];

/** The session ends before its client has a server. */
const unprepared: PreparationOutcome = { error: shuttingDown };

/** What the router sends for an `initialize`. */
function answer({ request }: InitializeReceived, response: OutboundResponse): RouterEvent {
  return { type: 'lifecycle.answered', response, request };
}

/**
 * A session's actor logic, with typed `input`, `output` and emitted events.
 * `session/session-logic.ts` provides its actors; a host that provides others invokes or spawns it
 * in the same way.
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
    preparation: unprovidedPromise('preparation') as Preparation,
  },
  delays: {
    drainTimeout: ({ context }) => context.drainTimeoutMs,
    /**
     * The rest of the drain time lets cancelled handlers clean up and end their child processes.
     */
    settleTimeout: ({ context }) => context.drainTimeoutMs * 0.875,
    stallTimeout: ({ context }) => context.limits.stallTimeoutMs,
    promptTimeout: ({ context }) => promptMs(context),
  },
  guards: {
    isReadable: (_, { reading }: InitializeReceived) => reading.ok,
    isPrepared: ({ context }) => context.isPrepared === true,
    isToBePrepared: ({ context }, { reading }: InitializeReceived) =>
      reading.ok && context.isPrepared === true,
    isFound: (_, { server }: PreparationOutcome) => server !== undefined,
    isSooner: ({ context, event }) => drainTimeoutOf(event) < context.drainTimeoutMs,
    isUnread: ({ context }) => context.cause?.kind === 'output-broken',
    isFailure: ({ context }) => context.cause?.kind === 'failure',
    /** A host that gets its roots from elsewhere provides its own guard. */
    hasRoots: ({ context }) => declaresRoots(context.client?.capabilities),
    hasOwnStream: not(stateIn('#session.open.ownStream.none')),
    isNegotiated: stateIn('#session.open.lifecycle.negotiated'),
    isOperating: or([
      stateIn('#session.open.lifecycle.initialized'),
      stateIn('#session.open.lifecycle.rootsKnown'),
    ]),
    wantsKeepalive: ({ context }) => context.limits.keepaliveIntervalMs > 0,
    /**
     * A client whose request was slow may send it again; any other second `initialize` is the
     * client's fault.
     */
    isSame: ({ context }, { reading }: InitializeReceived) =>
      reading.ok && reading.client.fingerprint === context.client?.fingerprint,
  },
  actions: {
    /** The answer goes first: it is what the client waits for. */
    negotiate: enqueueActions(({ context, enqueue }, event: Greeting | ClientGreeted) => {
      if (!event) return;
      const known = event.type === 'initialize.received' ? event.reading : event;
      if (!('client' in known)) return;
      const [{ client }, { router, server }] = [known, context];
      enqueue.assign({ client, greeting: undefined });
      if (event.type === 'initialize.received') {
        const response = acceptedInitialize(event.request.id, client, server);
        enqueue.sendTo(router, answer(event, response));
      }
      enqueue.sendTo(router, { type: 'gate.opened', peer: client });
      enqueue.emit({ type: 'session.negotiated', client });
    }),
    meet: assign((_, greeting: InitializeReceived) =>
      greeting.reading.ok ? { client: greeting.reading.client, greeting } : {},
    ),
    /** What was sent before the end is served, and then the session ends. */
    endInTurn: enqueueActions(({ context: { cause }, enqueue, self }) => {
      if (!cause) return;
      enqueue.sendTo(self, { type: 'input.ended' });
    }),
    learnServer: assign((_, { server }: PreparationOutcome) => (server ? { server } : {})),
    /** The session is ending already, or ends for this. */
    refuseUnprepared: enqueueActions(
      ({ context, enqueue }, { error = internalError }: PreparationOutcome) => {
        const { cause, router, greeting } = context;
        if (!greeting) return;
        enqueue.sendTo(router, answer(greeting, errorResponse(greeting.request.id, error)));
        const reason = error.message;
        enqueue.assign({ greeting: undefined, cause: cause ?? { kind: 'shutdown', reason } });
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
    /** The client has chosen the other era. */
    refuseVersion: sendTo(
      ({ context }) => context.router,
      (_, received: InitializeReceived) =>
        answer(received, refusedVersion(received.request.id, received.reading)),
    ),
    requireEnvelopes: sendTo(({ context }) => context.router, { type: 'envelopes.require' }),
    refuseQuestions: sendTo(({ context }) => context.correlation, {
      type: 'gate.closed',
      error: serverRequestsUnsupported,
    }),
    /** Before what other regions do upon the same event: they may have the client asked. */
    operate: enqueueActions(({ context, enqueue }) => {
      enqueue.sendTo(context.correlation, { type: 'gate.opened' });
      enqueue.emit({ type: 'session.initialized' });
    }),
    keepRoots: assign({
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
    rememberEnd: assign(({ context, event }) => ({
      cause: context.cause ?? causeOf(event),
      drainTimeoutMs: Math.min(context.drainTimeoutMs, drainTimeoutOf(event)),
    })),
    spendPromptTime: assign({
      drainTimeoutMs: ({ context }) => context.drainTimeoutMs - promptMs(context),
    }),
    // Not by a custom action: the router may pause an upstream, whose machine then moves.
    tellFlow: enqueueActions(({ context, event, enqueue }) => {
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
    const { scope, server, limits, isPrepared } = input;
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
      isPrepared,
      writer,
      correlation,
      router,
      reader,
      roots: undefined,
      client: undefined,
      greeting: undefined,
      report: undefined,
      cause: undefined,
      drainTimeoutMs: limits.drainTimeoutMs,
    };
  },
  initial: 'open',
  on: {
    'output.blocked': { actions: 'tellFlow' },
    'output.flowing': { actions: 'tellFlow' },
    'initialize.received': {
      actions: { type: 'refuseInitialize', params: ({ event }) => event },
    },
    'initialized.received': { actions: 'ignore' },
    'roots.changed': { actions: 'ignore' },
  },
  states: {
    open: {
      meta: { isNameless: true },
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
          meta: { isNameless: true },
          initial: 'uninitialized',
          states: {
            uninitialized: {
              description: 'What the client sends first settles the era of the session.',
              tags: 'awaitsInitialize',
              on: {
                'initialize.received': [
                  {
                    guard: { type: 'isToBePrepared', params: ({ event }) => event },
                    target: 'preparing',
                    actions: { type: 'meet', params: ({ event }) => event },
                  },
                  {
                    guard: { type: 'isReadable', params: ({ event }) => event },
                    target: 'negotiated',
                    actions: { type: 'negotiate', params: ({ event }) => event },
                  },
                ],
                'envelope.received': 'modern',
                'client.greeted': {
                  target: 'negotiated',
                  actions: { type: 'negotiate', params: ({ event }) => event },
                },
                'client.readied': {
                  target: 'initialized',
                  actions: [{ type: 'negotiate', params: ({ event }) => event }, 'operate'],
                },
              },
            },
            preparing: {
              description: 'What the server has for the client is found out; what it sends waits.',
              tags: 'awaitsInitialize',
              entry: sendTo(({ context }) => context.router, { type: 'gate.held' }),
              invoke: {
                id: 'preparation',
                src: 'preparation',
                input: ({ context: { scope, greeting } }) => ({
                  scope,
                  received: greeting as never,
                }),
                onDone: [
                  {
                    guard: { type: 'isFound', params: ({ event }) => event.output },
                    target: 'negotiated',
                    actions: [
                      { type: 'learnServer', params: ({ event }) => event.output },
                      { type: 'negotiate', params: ({ context }) => context.greeting },
                      'endInTurn',
                    ],
                  },
                  {
                    target: '#session.draining',
                    actions: { type: 'refuseUnprepared', params: ({ event }) => event.output },
                  },
                ],
              },
              on: {
                'session.shutdown': {
                  target: '#session.draining',
                  actions: ['rememberEnd', { type: 'refuseUnprepared', params: unprepared }],
                },
                // What the client has said until then is served: the preparation has a time of its own.
                'input.ended': { actions: 'rememberEnd' },
              },
            },
            negotiated: {
              description:
                'The reply is sent. The client may ask; we may not, until it says that it is ready.',
              tags: 'awaitsInitialized',
              on: {
                'initialized.received': { target: 'initialized', actions: 'operate' },
                'initialize.received': {
                  guard: { type: 'isSame', params: ({ event }) => event },
                  actions: { type: 'answerAgain', params: ({ event }) => event },
                },
              },
            },
            initialized: {
              description: 'In operation; the roots are not settled yet.',
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
              description: 'In operation; what the client lists, or that it lists none, is known.',
              tags: 'operating',
              on: {
                'roots.updated': {
                  actions: { type: 'publishRoots', params: ({ event }) => event },
                },
              },
            },
            modern: {
              description:
                'The revisions without a handshake: each request says who its client is. Nothing may be asked of it.',
              tags: 'stateless',
              entry: ['requireEnvelopes', 'refuseQuestions'],
              on: {
                'initialize.received': {
                  actions: { type: 'refuseVersion', params: ({ event }) => event },
                },
              },
            },
          },
        },
        ownStream: {
          description:
            'Whether the client can be told and asked what belongs to none of its requests.',
          meta: { isAside: true },
          initial: 'open',
          states: {
            open: {
              on: {
                'ownStream.closed': 'none',
                'client.greeted': 'none',
                'client.readied': 'none',
                'initialized.received': {
                  guard: and(['wantsKeepalive', 'isNegotiated']),
                  target: 'watched',
                },
              },
            },
            watched: {
              description: 'A client that is quiet for long is asked whether it is there.',
              on: { 'ownStream.closed': 'none' },
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
              description: 'It only hears what goes on the stream of a request of its own.',
              on: {
                'ownStream.opened': [
                  { guard: and(['wantsKeepalive', 'isOperating']), target: 'watched' },
                  'open',
                ],
              },
            },
          },
        },
        roots: {
          description: 'Who keeps the roots of a client that declares them.',
          meta: { isAside: true },
          initial: 'unneeded',
          states: {
            unneeded: {
              description: 'Nobody: the client cannot be asked by itself, and no call needs them.',
              on: {
                'initialized.received': {
                  guard: and([not('isPrepared'), 'isNegotiated', 'hasRoots', 'hasOwnStream']),
                  target: 'kept.started',
                  actions: ['keepRoots', 'askForRoots'],
                },
                'ownStream.opened': {
                  guard: and([not('isPrepared'), 'isOperating', 'hasRoots']),
                  target: 'kept.started',
                  actions: ['keepRoots', 'askForRoots'],
                },
                'roots.needed': [
                  {
                    guard: and(['isOperating', 'hasRoots']),
                    target: 'kept.started',
                    actions: ['keepRoots', 'deferRoots'],
                  },
                  { guard: 'hasRoots', target: 'kept', actions: 'keepRoots' },
                ],
                'roots.changed': { guard: and(['hasRoots', 'isOperating']) },
              },
            },
            kept: {
              description: 'A machine of their own. It is told when the client can be asked.',
              initial: 'unstarted',
              states: {
                unstarted: {
                  on: {
                    'initialized.received': [
                      { guard: 'hasOwnStream', target: 'started', actions: 'askForRoots' },
                      { target: 'started', actions: 'deferRoots' },
                    ],
                  },
                },
                started: {
                  on: {
                    'roots.changed': { actions: 'invalidateRoots' },
                    'roots.due': [
                      { guard: 'hasOwnStream', actions: 'askForRoots' },
                      { actions: 'deferRoots' },
                    ],
                    'ownStream.opened': { guard: not('hasOwnStream'), actions: 'askForRoots' },
                    'ownStream.closed': { guard: 'hasOwnStream', actions: 'deferRoots' },
                  },
                },
              },
            },
          },
        },
      },
    },
    draining: {
      description: 'No new request; what is in flight may end, within the drain time.',
      entry: ['rememberEnd', 'closeOutboundGate', 'closeInboundGate'],
      on: {
        'session.shutdown': { guard: 'isSooner', target: 'draining', reenter: true },
        'roots.needed': {
          guard: 'hasRoots',
          actions: ['keepRoots', 'deferRoots'],
        },
        'roots.due': { guard: 'hasRoots', actions: ['keepRoots', 'deferRoots'] },
        [anyActorFailed]: 'closed',
      },
      initial: 'prompt',
      states: {
        prompt: {
          description: 'Most sessions are idle when they end, and need no time.',
          meta: { isNameless: true },
          // The actor that failed may be the one that would have answered.
          always: { guard: 'isFailure', target: 'lasting' },
          initial: 'settling',
          states: {
            settling: {
              description: 'The router says at once whether anything runs.',
              tags: 'settling',
              on: {
                'calls.drained': { target: 'flushing', actions: 'flushOutput' },
                'calls.running': '#session.draining.lasting',
              },
            },
            flushing: {
              description: 'Nothing ran. The writer says when all is written.',
              tags: 'flushing',
              on: {
                'output.broken': '#session.closed',
                'output.flushed': '#session.closed',
                'output.stalled': '#session.closed',
              },
              after: {
                promptTimeout: {
                  target: '#session.draining.lasting.flushing',
                  actions: ['spendPromptTime', 'flushOverdueOutput'],
                },
              },
            },
          },
        },
        lasting: {
          description: 'Time is needed, and it is bounded.',
          meta: { isNameless: true },
          after: { drainTimeout: '#session.closed' },
          initial: 'settling',
          states: {
            settling: {
              tags: 'settling',
              exit: 'abandonCalls',
              always: { guard: 'isUnread', target: 'aborting' },
              on: {
                'calls.drained': { target: 'flushing', actions: 'flushOutput' },
                'output.broken': 'aborting',
              },
              after: { settleTimeout: 'aborting' },
            },
            aborting: {
              description: 'What still runs is cancelled, and may clean up.',
              tags: 'aborting',
              on: { 'calls.drained': { target: 'flushing', actions: 'flushOutput' } },
            },
            flushing: {
              description:
                'The writer is asked again and again; it says whether anything was taken since.',
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
