/** A session with a client that has roots, with or without its own channel. */
import type { Root, RootsReport } from 'mcp-actors';
import type { RequestFrame } from '../../packages/testing/src/messages.ts';
import { withoutChannel } from './channel-wire.ts';
import type { Channel } from './channel-wire.ts';
import { combinationUnderTest } from './everywhere.ts';
import { operateWarm, textOf, tool } from './serving.ts';
import type { ServingOptions, Serving } from './serving.ts';

/** The tool `wait` returns the report of `context.roots()` as JSON. */
export const wait = tool('wait', async ({ timeoutMs }, context) =>
  JSON.stringify(
    await context.roots(timeoutMs === undefined ? {} : { timeoutMs: Number(timeoutMs) }),
  ),
);

export interface RootsServing extends Serving {
  /** The session's next roots query. */
  query(): Promise<RequestFrame>;
  /** Number of queries sent. */
  readonly queries: number;
  /** All published reports, in order. */
  readonly reports: readonly RootsReport[];
  /** The current report. */
  readonly report: RootsReport | undefined;
  /** The report for a tool that waits for roots. */
  waited(args?: { readonly timeoutMs?: number }): Promise<RootsReport>;
}

export const list = (...names: readonly string[]) => ({
  roots: names.map((name) => ({ uri: `file:///${name}` })),
});

export const urisOf = (report: RootsReport | undefined): readonly string[] | undefined =>
  report?.roots.map(({ uri }: Root) => uri.slice('file:///'.length));

/** Initializes a session with roots, leaving the first query unanswered. */
export async function operateRoots(
  options: ServingOptions & {
    readonly resolveRoots?: Parameters<typeof operateWarm>[0]['resolveRoots'];
  } = {},
): Promise<RootsServing> {
  const reports: RootsReport[] = [];
  const { resolveRoots, ...others } = options;
  const features = { tools: [wait], ...(resolveRoots ? { resolveRoots } : {}) };
  const serving = await operateWarm(features, {
    capabilities: { roots: { listChanged: true } },
    onRootsUpdated: (report) => reports.push(report),
    ...others,
  });
  const { peer } = serving;
  return {
    ...serving,
    query: () => peer.request('roots/list'),
    get queries() {
      return peer.count('roots/list');
    },
    reports,
    get report() {
      return reports.at(-1);
    },
    waited: async (args) => JSON.parse(textOf(await peer.call('wait', args))) as RootsReport,
  };
}

/** A client without a channel, over the transport under test. @param unaskable as for {@link withoutChannel} */
export function clientWithoutChannel(unaskable?: readonly unknown[]): {
  readonly options: Pick<ServingOptions, 'connection' | 'opensStream'>;
  /** The client's channel; undefined before it is served. */
  readonly channelOf: (serving: Serving) => Channel;
} {
  if (combinationUnderTest()?.transport === 'HTTP') {
    return {
      options: { opensStream: false },
      channelOf: ({ channel }) => {
        if (!channel) throw new Error('It is not served over HTTP');
        return channel;
      },
    };
  }
  const connection = withoutChannel(unaskable);
  return { options: { connection }, channelOf: () => connection };
}
