/**
 * A host that is a statechart with two sessions of one server. It reports the folders open in both
 * whenever they change.
 */
import { assign, emit, sendTo, setup } from 'xstate';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { CloseCause, RootsReport, SessionEmitted, Transport } from 'mcp-actors';

const server = createMcpServer({
  name: 'two-sessions',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'where',
      description: 'Says which folders are open in the client that asks.',
      handler: async (_args, context) => {
        const { roots } = await context.roots();
        return roots.map(({ uri }) => uri).join(' ');
      },
    }),
  ],
});

type Side = 'left' | 'right';
type Folders = Readonly<Record<Side, readonly string[]>>;

interface HostContext {
  readonly transports: Readonly<Record<Side, Transport>>;
  readonly folders: Folders;
  readonly ends: { readonly [side in Side]?: CloseCause['kind'] };
}

const host = setup({
  types: {
    input: {} as HostContext['transports'],
    context: {} as HostContext,
    events: {} as
      | { readonly type: 'roots.told'; readonly side: Side; readonly report: RootsReport }
      | { readonly type: 'host.close' },
    emitted: {} as { readonly type: 'shared.changed'; readonly folders: readonly string[] },
    output: {} as HostContext['ends'],
  },
  actors: { session: server.sessionLogic },
  actions: {
    rememberFolders: assign({
      folders: (
        { context },
        told: { readonly side: Side; readonly folders: readonly string[] },
      ) => ({
        ...context.folders,
        [told.side]: told.folders,
      }),
    }),
    rememberEnd: assign({
      ends: ({ context }, end: { readonly side: Side; readonly kind: CloseCause['kind'] }) => ({
        ...context.ends,
        [end.side]: end.kind,
      }),
    }),
    tellShared: emit(({ context: { folders } }) => ({
      type: 'shared.changed',
      folders: folders.left.filter((folder) => folders.right.includes(folder)),
    })),
  },
});

/** One session for its whole lifetime. */
function serving(side: Side) {
  return host.createStateConfig({
    initial: 'open',
    states: {
      open: {
        invoke: {
          id: side,
          src: 'session',
          input: ({ context, self }) => ({
            transport: context.transports[side],
            // Emitted events do not reach the parent automatically, so they are forwarded.
            onEmitted: (event: SessionEmitted) => {
              if (event.type !== 'roots.updated') return;
              self.send({ type: 'roots.told', side, report: event.report });
            },
          }),
          onDone: {
            target: 'ended',
            actions: {
              type: 'rememberEnd',
              params: ({ event }) => ({ side, kind: event.output.cause.kind }),
            },
          },
        },
        on: {
          'host.close': {
            actions: sendTo(side, { type: 'session.shutdown', reason: 'The host closes' }),
          },
        },
      },
      ended: {
        type: 'final',
        entry: [{ type: 'rememberFolders', params: { side, folders: [] } }, 'tellShared'],
      },
    },
  });
}

export const hostMachine = host.createMachine({
  id: 'host',
  type: 'parallel',
  context: ({ input }) => ({ transports: input, folders: { left: [], right: [] }, ends: {} }),
  on: {
    'roots.told': {
      actions: [
        {
          type: 'rememberFolders',
          params: ({ event: { side, report } }) => ({
            side,
            folders: report.roots.map(({ uri }) => uri),
          }),
        },
        'tellShared',
      ],
    },
  },
  states: { left: serving('left'), right: serving('right') },
  output: ({ context }) => context.ends,
});
