/**
 * A host's machine that invokes a connection: it calls a tool when the server is ready, and closes
 * the connection after the result. The server's fate is a state of the machine.
 */
import { connectionLogic, connectionOf } from 'mcp-actors/client';
import type { ConnectionLogicInput } from 'mcp-actors/client';
import { assign, fromPromise, raise, sendTo, setup } from 'xstate';
import type { AnyActorRef, SnapshotFrom } from 'xstate';

/** The tool to call, and the server that has it. */
export interface QuestionInput extends ConnectionLogicInput {
  readonly tool: string;
  readonly args: { readonly [name: string]: unknown };
}

export const questionMachine = setup({
  types: {
    input: {} as QuestionInput,
    context: {} as QuestionInput & { readonly answer: string },
    events: {} as {
      readonly type: 'server.moved';
      readonly to: SnapshotFrom<typeof connectionLogic>;
    },
    output: {} as string,
  },
  actors: {
    connection: connectionLogic,
    call: fromPromise<string, QuestionInput & { readonly connection: AnyActorRef | undefined }>(
      async ({ input: { connection, tool, args }, signal }) => {
        if (!connection) throw new Error('There is no connection');
        const { content } = await connectionOf(connection).callTool(tool, args, { signal });
        return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      },
    ),
  },
}).createMachine({
  id: 'question',
  context: ({ input }) => ({ ...input, answer: '' }),
  invoke: {
    id: 'server',
    src: 'connection',
    input: ({ context }) => context,
    onSnapshot: { actions: raise(({ event }) => ({ type: 'server.moved', to: event.snapshot })) },
    onDone: '.done',
  },
  initial: 'connecting',
  on: {
    'server.moved': {
      guard: ({ event }) => event.to.matches('failed'),
      target: '.closing',
      actions: assign({
        answer: ({ event }) => `The server has failed: ${event.to.context.loss?.kind}`,
      }),
    },
  },
  states: {
    connecting: {
      on: { 'server.moved': { guard: ({ event }) => event.to.matches('ready'), target: 'asking' } },
    },
    asking: {
      invoke: {
        src: 'call',
        input: ({ context, self }) => ({
          ...context,
          connection: self.getSnapshot().children.server,
        }),
        onDone: { target: 'closing', actions: assign({ answer: ({ event }) => event.output }) },
        onError: {
          target: 'closing',
          actions: assign({ answer: ({ event }) => String(event.error) }),
        },
      },
    },
    closing: { entry: sendTo('server', { type: 'connection.close' }) },
    done: { type: 'final' },
  },
  output: ({ context }) => context.answer,
});
