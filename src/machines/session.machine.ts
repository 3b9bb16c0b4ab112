/**
 * The lifecycle of one session: which era it is of, and what may happen when.
 *
 * Ordinary messages never come here. The machine tells its actors which gate is open; they do the
 * traffic.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility"
 */
import { and, assign, emit, enqueueActions, not, sendTo, setup, stopChild } from 'xstate';
import { declaresRoots } from '../protocol/roots.ts';
import type { PeerDescription } from '../protocol/initialize.ts';
import { accepted, refused, refusedVersion } from './initialize-answers.ts';
import { keepaliveMachine } from './keepalive.machine.ts';
import { rootsMachine, undeclaredRoots } from './roots.machine.ts';
import type { RootsUpdated } from './roots.machine.ts';
import type { SessionContext, SessionInput } from './session-context.ts';
import { causeOf, drainTimeoutOf, endOf, endedBefore, notAsked } from './session-end.ts';
import type { SessionEvent } from './session-end.ts';
import { unprovided } from './port.ts';
import type {
  OwnStreamFact,
  CorrelationEvent,
  CorrelationInput,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from './peer-ports.ts';
import type { CloseCause, InitializeReceived, SessionRouterInput } from './session-ports.ts';
import type { SessionTag } from './session-tags.ts';
import type { StateMeta } from './state-name.ts';
import { anyActorFailed } from './xstate-events.ts';

export type { SessionEvent } from './session-end.ts';

/** What a host hears of. */
export type SessionEmitted =
  | { readonly type: 'session.negotiated'; readonly client: PeerDescription }
  | { readonly type: 'session.initialized' }
  | RootsUpdated
  /** A notification that means nothing in the present state. */
  | { readonly type: 'notification.ignored'; readonly notification: string }
  | { readonly type: 'session.closed'; readonly cause: CloseCause };

/** What a session leaves behind. */
export interface SessionOutput {
  /** Why it has ended. */
  readonly cause: CloseCause;
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
  },
  delays: {
    drainTimeout: ({ context }) => context.drainTimeoutMs,
    /**
     * The rest of the drain time is for handlers that were cancelled: to clean up, to end their
     * children.
     */
    settleTimeout: ({ context }) => context.drainTimeoutMs * 0.875,
    stallTimeout: ({ context }) => context.limits.stallTimeoutMs,
  },
  guards: {
    isReadable: (_, { reading }: InitializeReceived) => reading.ok,
    isSooner: ({ context, event }) => drainTimeoutOf(event) < context.drainTimeoutMs,
    isUnread: ({ context }) => context.cause?.kind === 'output-broken',
    /** A host whose roots come from elsewhere provides its own. */
    hasRoots: ({ context }) => declaresRoots(context.client?.capabilities),
    hasRootsMachine: ({ context }) => context.roots !== undefined,
    hasNoRootsMachine: ({ context }) => !context.roots,
    hasOwnStream: ({ context }) => context.ownStream === 'open',
    /** A client without a stream of its own cannot be pinged; that it is quiet says nothing of it. */
    wantsKeepalive: ({ context }) =>
      context.limits.keepaliveIntervalMs > 0 && context.ownStream === 'open',
    hasNoKeepalive: ({ context }) => !context.keepalive,
    /**
     * A client whose request was slow may send it again; anything else is a fault of the client's.
     */
    isSame: ({ context }, { reading }: InitializeReceived) =>
      reading.ok && reading.client.fingerprint === context.client?.fingerprint,
  },
  actions: {
    /** The answer goes first: it is what the client waits for. */
    negotiate: enqueueActions(({ context, enqueue }, received: InitializeReceived) => {
      if (!received.reading.ok) return;
      const { client } = received.reading;
      enqueue.assign({ client });
      enqueue.sendTo(context.router, accepted(received, client, context.server));
      enqueue.sendTo(context.router, { type: 'gate.opened', peer: client });
      enqueue.emit({ type: 'session.negotiated', client });
    }),
    answerAgain: enqueueActions(({ context, enqueue }, received: InitializeReceived) => {
      const { client, router, server } = context;
      if (client) enqueue.sendTo(router, accepted(received, client, server));
    }),
    refuseInitialize: sendTo(
      ({ context }) => context.router,
      ({ context }, received: InitializeReceived) => refused(received, context),
    ),
    /** The client has chosen the other era. */
    refuseVersion: sendTo(
      ({ context }) => context.router,
      (_, received: InitializeReceived) => refusedVersion(received),
    ),
    requireEnvelopes: sendTo(({ context }) => context.router, { type: 'envelopes.require' }),
    refuseQuestions: sendTo(({ context }) => context.correlation, {
      type: 'gate.closed',
      error: notAsked,
    }),
    openOutboundGate: sendTo(({ context }) => context.correlation, { type: 'gate.opened' }),
    makeRoots: assign({
      roots: ({ context, self, spawn }) => {
        const { scope, correlation, limits, ownStream } = context;
        const { rootsTimeoutMs: timeoutMs, rootsRetryMs: retryMs, maxOvertakenRoots } = limits;
        const asking = { timeoutMs, retryMs, maxOvertaken: maxOvertakenRoots };
        const input = { scope, session: self, correlation, ownStream, ...asking };
        return spawn('roots', { id: 'roots', input });
      },
    }),
    tellOwnStream: enqueueActions(({ context, enqueue }, fact: OwnStreamFact) => {
      const ownStream = fact.type === 'ownStream.opened' ? 'open' : 'none';
      if (ownStream === context.ownStream) return;
      enqueue.assign({ ownStream });
      if (context.roots) enqueue.sendTo(context.roots, fact);
    }),
    makeKeepalive: assign({
      keepalive: ({ context, self, spawn }) => {
        const { scope, correlation, limits } = context;
        const input = { ...limits, scope, session: self, correlation };
        return spawn('keepalive', { id: 'keepalive', input });
      },
    }),
    stopKeepalive: enqueueActions(({ context, enqueue }) => {
      if (!context.keepalive) return;
      enqueue.stopChild(context.keepalive);
      enqueue.assign({ keepalive: undefined });
    }),
    startRoots: sendTo('roots', { type: 'roots.start' }),
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
    tellFlow: ({ context, event }) => {
      if (event.type !== 'output.blocked' && event.type !== 'output.flowing') return;
      context.router.send(event);
      context.reader.send(event);
    },
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
    const { scope, server, limits } = input;
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
      writer,
      correlation,
      router,
      reader,
      roots: undefined,
      keepalive: undefined,
      ownStream: 'open',
      client: undefined,
      report: undefined,
      cause: undefined,
      drainTimeoutMs: limits.drainTimeoutMs,
    };
  },
  initial: 'open',
  on: {
    'output.blocked': { actions: 'tellFlow' },
    'output.flowing': { actions: 'tellFlow' },
    'roots.needed': {
      guard: and(['hasRoots', 'hasNoRootsMachine']),
      actions: ['makeRoots', 'startRoots'],
    },
    'initialize.received': {
      actions: { type: 'refuseInitialize', params: ({ event }) => event },
    },
    'initialized.received': { actions: 'ignore' },
    'roots.changed': { actions: 'ignore' },
  },
  states: {
    open: {
      meta: { isNameless: true },
      initial: 'uninitialized',
      on: {
        'input.ended': 'draining',
        'output.broken': 'draining',
        'client.unresponsive': 'draining',
        'session.shutdown': 'draining',
        'ownStream.opened': { actions: { type: 'tellOwnStream', params: ({ event }) => event } },
        'ownStream.closed': {
          actions: [{ type: 'tellOwnStream', params: ({ event }) => event }, 'stopKeepalive'],
        },
        [anyActorFailed]: 'draining',
      },
      states: {
        uninitialized: {
          description: 'What the client sends first settles the era of the session.',
          tags: 'awaitsInitialize',
          on: {
            'initialize.received': [
              {
                guard: { type: 'isReadable', params: ({ event }) => event },
                target: 'legacy',
                actions: { type: 'negotiate', params: ({ event }) => event },
              },
              { actions: { type: 'refuseInitialize', params: ({ event }) => event } },
            ],
            'envelope.received': 'modern',
          },
        },
        legacy: {
          description: 'The revisions with a handshake.',
          meta: { isNameless: true },
          initial: 'negotiated',
          states: {
            negotiated: {
              description:
                'The reply is sent. The client may ask; we may not, until it says that it is ready.',
              tags: 'awaitsInitialized',
              always: {
                guard: and(['hasRoots', 'hasNoRootsMachine', 'hasOwnStream']),
                actions: 'makeRoots',
              },
              on: {
                'initialized.received': [
                  { guard: 'hasRootsMachine', target: 'initialized', actions: 'startRoots' },
                  { target: 'initialized' },
                ],
                'roots.needed': {
                  guard: and(['hasRoots', 'hasNoRootsMachine']),
                  actions: 'makeRoots',
                },
                'initialize.received': [
                  {
                    guard: { type: 'isSame', params: ({ event }) => event },
                    actions: { type: 'answerAgain', params: ({ event }) => event },
                  },
                  { actions: { type: 'refuseInitialize', params: ({ event }) => event } },
                ],
              },
            },
            initialized: {
              description: 'In operation; the roots are not settled yet.',
              tags: 'operating',
              entry: ['openOutboundGate', emit({ type: 'session.initialized' })],
              always: [
                { guard: and(['wantsKeepalive', 'hasNoKeepalive']), actions: 'makeKeepalive' },
                {
                  guard: and(['hasRoots', 'hasNoRootsMachine', 'hasOwnStream']),
                  actions: ['makeRoots', 'startRoots'],
                },
                {
                  guard: not('hasRoots'),
                  target: 'rootsKnown',
                  actions: { type: 'publishRoots', params: { report: undeclaredRoots } },
                },
              ],
              on: {
                'roots.changed': [
                  { guard: 'hasRootsMachine', actions: 'invalidateRoots' },
                  { guard: 'hasRoots', description: 'Nobody has needed them yet.' },
                ],
                'roots.updated': {
                  target: 'rootsKnown',
                  actions: { type: 'publishRoots', params: ({ event }) => event },
                },
              },
            },
            rootsKnown: {
              description: 'In operation; what the client lists, or that it lists none, is known.',
              tags: 'operating',
              always: {
                guard: and(['wantsKeepalive', 'hasNoKeepalive']),
                actions: 'makeKeepalive',
              },
              on: {
                'roots.changed': { guard: 'hasRoots', actions: 'invalidateRoots' },
                'roots.updated': {
                  actions: { type: 'publishRoots', params: ({ event }) => event },
                },
              },
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
    draining: {
      description: 'No new request; what is in flight may end, within the drain time.',
      entry: ['rememberEnd', 'closeOutboundGate', stopChild('keepalive'), 'closeInboundGate'],
      on: {
        'session.shutdown': { guard: 'isSooner', target: 'draining', reenter: true },
        [anyActorFailed]: 'closed',
      },
      after: { drainTimeout: 'closed' },
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
    closed: {
      type: 'final',
      tags: 'closed',
      entry: emit(({ context }) => ({ type: 'session.closed', cause: endOf(context.cause) })),
    },
  },
  output: ({ context }) => ({ cause: endOf(context.cause) }),
});
