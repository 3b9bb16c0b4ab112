/**
 * The start of many servers: whoever starts them waits until each is ready or has failed, but no
 * longer than so long. What comes later is no business of the start.
 */
import { assign, setup } from 'xstate';

export interface StartupInput {
  /** The names of the servers that are started. */
  readonly servers: readonly string[];
  /** How long they are waited for, milliseconds. */
  readonly startupMs: number;
}

export type StartupEvent =
  /** It is ready, or has failed, or is not wanted any more. */
  { readonly type: 'server.settled'; readonly name: string };

export interface StartupContext {
  readonly startupMs: number;
  /** Who is still waited for. */
  readonly awaited: readonly string[];
}

/** Who was not settled in time. */
export interface StartupOutput {
  readonly late: readonly string[];
}

export const startupMachine = setup({
  types: {
    input: {} as StartupInput,
    context: {} as StartupContext,
    events: {} as StartupEvent,
    output: {} as StartupOutput,
  },
  guards: { isEverySettled: ({ context }) => context.awaited.length === 0 },
  delays: { startupTimeout: ({ context }) => context.startupMs },
  actions: {
    forget: assign({
      awaited: ({ context }, { name }: StartupEvent) =>
        context.awaited.filter((each) => each !== name),
    }),
  },
}).createMachine({
  id: 'startup',
  context: ({ input: { servers, startupMs } }) => ({ startupMs, awaited: servers }),
  initial: 'settling',
  output: ({ context }) => ({ late: context.awaited }),
  states: {
    settling: {
      description: 'Servers are started, all at once; none waits for another.',
      always: { guard: 'isEverySettled', target: 'settled' },
      on: {
        'server.settled': { actions: { type: 'forget', params: ({ event }) => event } },
      },
      after: { startupTimeout: 'settled' },
    },
    settled: {
      description: 'Each is ready or has failed, or has taken too long.',
      type: 'final',
    },
  },
});
