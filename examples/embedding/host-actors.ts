/**
 * A host's own actors inside a session: the source of its roots, the actor behind a tool, and its
 * connection.
 */
import { classify, defineTool, rootsMachine } from 'mcp-actors';
import type {
  AskInput,
  AskOutcome,
  OutboundFrame,
  ReaderEvent,
  ReaderInput,
  SessionImplementations,
  Transport,
  WriterEvent,
  WriterInput,
} from 'mcp-actors';
import { assign, emit, fromCallback, fromPromise, setup, waitFor } from 'xstate';
import type { ActorRefFrom } from 'xstate';

// #region roots
/** Folders open in the host. */
export const desktop = setup({
  types: {
    context: {} as { readonly folders: readonly string[] },
    events: {} as { readonly type: 'folder.opened'; readonly uri: string },
  },
}).createMachine({
  context: { folders: ['file:///first'] },
  on: {
    'folder.opened': {
      actions: assign({ folders: ({ context, event }) => [...context.folders, event.uri] }),
    },
  },
});

/**
 * Implementations for `server.sessionLogic.provide(rootsOf(desk))`. Send `roots.changed` to a
 * session to make it query again.
 */
export function rootsOf(desk: ActorRefFrom<typeof desktop>): SessionImplementations {
  const ask = fromPromise<AskOutcome, AskInput>(() => {
    const { folders } = desk.getSnapshot().context;
    return Promise.resolve({ kind: 'answered', roots: folders.map((uri) => ({ uri })) });
  });
  const roots = rootsMachine.provide({ actors: { ask } });
  // The client's own roots are irrelevant here.
  return { actors: { roots }, guards: { hasRoots: () => true } };
}
// #endregion

// #region tool
/** Approval requests to people at the host, with their answers. */
export const approvals = setup({
  types: {
    context: {} as {
      readonly waiting: readonly string[];
      readonly answers: { readonly [question: string]: boolean };
    },
    events: {} as
      | { readonly type: 'asked' | 'withdrawn'; readonly question: string }
      | { readonly type: 'decided'; readonly question: string; readonly yes: boolean },
  },
  actions: {
    forget: assign({
      waiting: ({ context, event }) => context.waiting.filter((each) => each !== event.question),
    }),
  },
}).createMachine({
  context: { waiting: [], answers: {} },
  on: {
    asked: {
      actions: assign({ waiting: ({ context, event }) => [...context.waiting, event.question] }),
    },
    withdrawn: { actions: 'forget' },
    decided: {
      actions: [
        'forget',
        assign({
          answers: ({ context, event }) => ({ ...context.answers, [event.question]: event.yes }),
        }),
      ],
    },
  },
});

export function approve(desk: ActorRefFrom<typeof approvals>) {
  return defineTool({
    name: 'approve',
    description: 'Asks the people at the host.',
    inputSchema: {
      type: 'object',
      properties: { question: { type: 'string' } },
      required: ['question'],
    },
    handler: async ({ question }, { signal }) => {
      desk.send({ type: 'asked', question });
      try {
        const isAnswered = ({ context }: { context: { answers: object } }) =>
          Object.hasOwn(context.answers, question);
        const { context } = await waitFor(desk, isAnswered, { signal });
        return context.answers[question] ? 'approved' : 'refused';
      } finally {
        desk.send({ type: 'withdrawn', question });
      }
    },
  });
}
// #endregion

// #region transport
/** Connection between host and client: messages sent and received by the client. */
export const line = setup({
  types: {
    events: {} as
      | { readonly type: 'say'; readonly message: unknown }
      | { readonly type: 'hear'; readonly frame: OutboundFrame },
    emitted: {} as
      | { readonly type: 'said'; readonly message: unknown }
      | { readonly type: 'heard'; readonly frame: OutboundFrame },
  },
}).createMachine({
  on: {
    say: { actions: emit(({ event }) => ({ type: 'said', message: event.message })) },
    hear: { actions: emit(({ event }) => ({ type: 'heard', frame: event.frame })) },
  },
});

export function overLine(connection: ActorRefFrom<typeof line>): Transport {
  return () => ({
    reader: fromCallback<ReaderEvent, ReaderInput>(({ input: { router, owner } }) => {
      const said = connection.on('said', ({ message }) =>
        router.send({ type: 'frames.received', frames: [classify(message)] }),
      );
      const ended = connection.subscribe({ complete: () => owner.send({ type: 'input.ended' }) });
      return () => {
        said.unsubscribe();
        ended.unsubscribe();
      };
    }),
    writer: fromCallback<WriterEvent, WriterInput>(({ input: { owner }, receive }) => {
      receive((event) => {
        if (event.type === 'output.flush') return owner.send({ type: 'output.flushed' });
        if (event.type !== 'frames.send') return;
        for (const frame of event.frames) connection.send({ type: 'hear', frame });
      });
    }),
  });
}
// #endregion
