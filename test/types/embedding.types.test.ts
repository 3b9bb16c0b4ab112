/** What the compiler proves of a session in a host's system. Run by `tsc`; the test run only shows that nothing throws. */
import { createMcpServer, memory, rootsMachine, sessionOf } from 'mcp-actors';
import type {
  AskInput,
  AskOutcome,
  CloseCause,
  McpServer,
  McpSession,
  RootsReport,
  SessionActorRef,
  SessionEmitted,
  SessionOutput,
  SessionSnapshot,
  SessionState,
  TrafficItem,
} from 'mcp-actors';
import { describe, expectTypeOf, test } from 'vitest';
import type { Observable } from 'rxjs';
import { assign, createActor, fromPromise, setup } from 'xstate';
import type { ActorRefFrom, EmittedFrom, OutputFrom, SnapshotFrom } from 'xstate';

const server = createMcpServer({ name: 'typed', version: '1' });
const { transport } = memory();

const host = setup({
  types: {
    context: {} as { cause?: CloseCause; session?: SessionActorRef },
    events: {} as { type: 'said'; event: SessionEmitted },
  },
  actors: { session: server.sessionLogic },
});

type Logic = McpServer['sessionLogic'];

describe('session logic is typed', () => {
  test('in its output, its emitted events, its snapshot', () => {
    expectTypeOf<OutputFrom<Logic>>().toEqualTypeOf<SessionOutput>();
    expectTypeOf<EmittedFrom<Logic>>().toEqualTypeOf<SessionEmitted>();
    expectTypeOf<SnapshotFrom<Logic>>().toEqualTypeOf<SessionSnapshot>();
    expectTypeOf<ActorRefFrom<Logic>>().toEqualTypeOf<SessionActorRef>();
  });

  test('in an invoke: input, output, snapshots', () => {
    host.createMachine({
      context: {},
      invoke: {
        src: 'session',
        input: ({ self }) => ({
          transport,
          limits: { maxRunning: 1 },
          onEmitted: (event) => {
            expectTypeOf(event).toEqualTypeOf<SessionEmitted>();
            self.send({ type: 'said', event });
          },
        }),
        onDone: {
          actions: assign({
            cause: ({ event }) => {
              expectTypeOf(event.output).toEqualTypeOf<SessionOutput>();
              return event.output.cause;
            },
          }),
        },
        onSnapshot: {
          actions: ({ event }) => {
            expectTypeOf(event.snapshot.context.report).toEqualTypeOf<RootsReport | undefined>();
          },
        },
      },
    });
    host.createMachine({
      context: {},
      // @ts-expect-error: a session needs a transport
      invoke: { src: 'session', input: { limits: {} } },
    });
    host.createMachine({
      context: {},
      // @ts-expect-error: there is no such limit
      invoke: { src: 'session', input: { transport, limits: { maxRuning: 1 } } },
    });
  });

  test('in a spawn and on the actor ref', () => {
    host.createMachine({
      context: ({ spawn }) => ({ session: spawn('session', { input: { transport } }) }),
    });
    const actor = createActor(server.sessionLogic, { input: { transport } });
    actor.on('roots.updated', ({ report }) => expectTypeOf(report).toEqualTypeOf<RootsReport>());
    actor.on('session.closed', ({ cause }) => expectTypeOf(cause).toEqualTypeOf<CloseCause>());
    // @ts-expect-error: nothing of that name is emitted
    actor.on('roots.lost', () => {});
    // @ts-expect-error: a shutdown has its reason
    void (() => actor.send({ type: 'session.shutdown' }));
    expectTypeOf(actor.getSnapshot().matches).toBeCallableWith({
      open: { lifecycle: 'rootsKnown' },
    });
    expectTypeOf(actor.getSnapshot().hasTag).toBeCallableWith('operating');
    expectTypeOf<SessionState>().toEqualTypeOf<
      | 'uninitialized'
      | 'negotiated'
      | 'resolvingUpstream'
      | 'initialized'
      | 'rootsKnown'
      | 'modern'
      | 'draining'
      | 'closed'
    >();
    expectTypeOf(sessionOf(actor)).toEqualTypeOf<McpSession>();
  });

  test('in provided implementations', () => {
    const ask = fromPromise<AskOutcome, AskInput>(({ input }) => {
      expectTypeOf(input.timeoutMs).toEqualTypeOf<number>();
      return Promise.resolve({ kind: 'answered', roots: [] });
    });
    const roots = rootsMachine.provide({ actors: { ask } });
    expectTypeOf(server.sessionLogic.provide({ actors: { roots } })).toEqualTypeOf<Logic>();
    // @ts-expect-error: a session has no such actor
    void (() => server.sessionLogic.provide({ actors: { branches: roots } }));
  });
});

test('session observables are typed', () => {
  expectTypeOf<McpSession['state$']>().toEqualTypeOf<Observable<SessionState>>();
  expectTypeOf<McpSession['roots$']>().toEqualTypeOf<Observable<RootsReport>>();
  expectTypeOf<McpSession['events$']>().toEqualTypeOf<Observable<SessionEmitted>>();
  expectTypeOf<McpSession['traffic$']>().toEqualTypeOf<Observable<TrafficItem>>();
});
