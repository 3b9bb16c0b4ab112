/** Suites of servers and measures, and how each measure connects to a server. */
import { tmpdir } from 'node:os';
import { bridgedCalls, oursBehind, sessions } from './bridge/costs.ts';
import { leftovers } from './bridge/leftovers.ts';
import { begins } from './http/measures/begins.ts';
import { asking as httpAsking } from './http/measures/asking.ts';
import { crowd } from './http/measures/crowd.ts';
import { echo, modern } from './http/measures/echo.ts';
import { held, kept } from './http/measures/held.ts';
import { large as httpLarge } from './http/measures/large.ts';
import type { HttpMeasure } from './http/measures/measure.ts';
import { hops, nodes } from './http/measures/nodes.ts';
import { pushes } from './http/measures/pushes.ts';
import { slow } from './http/measures/slow.ts';
import { HttpClient } from './http/http-client.ts';
import { asking } from './measures/asking.ts';
import { large } from './measures/large.ts';
import { latency } from './measures/latency.ts';
import type { Measure } from './measures/measure.ts';
import { cancelled, memory, pending } from './measures/memory.ts';
import { early, session } from './measures/short.ts';
import { start } from './measures/start.ts';
import { echoThroughput, envelopedThroughput, pingThroughput } from './measures/throughput.ts';
import { unread } from './measures/unread.ts';
import { RawClient } from './raw-client.ts';
import type { Task } from './run.ts';
import { withClient } from './server-process.ts';
import { bridgeServers, httpServers, stdioServers, taskServers } from './servers.ts';
import type { Server } from './servers.ts';
import { calls, claims, tasks, waiting } from './tasks/measures.ts';
import type { TaskMeasure } from './tasks/measures.ts';
import { storeKinds } from './tasks/stores.ts';

export interface Suite {
  readonly name: 'stdio' | 'http' | 'tasks' | 'bridge';
  readonly servers: readonly Server[];
  /** In running order. */
  readonly tasks: readonly Task[];
  /** Metrics in the chart; none for no chart. */
  readonly charted: readonly string[];
}

export const stdioSuite: Suite = {
  name: 'stdio',
  servers: stdioServers,
  tasks: [
    start,
    latency,
    pingThroughput,
    echoThroughput,
    envelopedThroughput,
    large,
    asking,
    early,
    session,
    memory,
    cancelled,
    pending,
    unread,
  ].map(overStdio),
  charted: [
    'start.initialize',
    'latency.echo.p50',
    'ping.256.cpu',
    'echo.256.cpu',
    'echo.all.cpu',
    'roots.sequential.cpu',
    'roots.concurrent.cpu',
    'large.10 MiB',
  ],
};

export const httpSuite: Suite = {
  name: 'http',
  servers: httpServers,
  tasks: [
    echo,
    modern,
    httpAsking,
    pushes,
    begins,
    held,
    kept,
    httpLarge,
    crowd,
    slow,
    hops,
    nodes,
  ].map(overHttp),
  charted: [
    'echo.session.cpu',
    'echo.connections.cpu',
    'enveloped.few.cpu',
    'roots.cpu',
    'pushes.changes.cpu',
    'wholeSession.cpu',
    'large',
  ],
};

export const taskSuite: Suite = {
  name: 'tasks',
  servers: taskServers,
  tasks: [calls, tasks, waiting, claims].map(withStore),
  charted: [],
};

export const bridgeSuite: Suite = {
  name: 'bridge',
  servers: bridgeServers,
  tasks: [...bridgedCalls, oursBehind, sessions, ...leftovers],
  charted: [
    'stdio.1.cpu',
    'stdio.many.cpu',
    'stdio.p50',
    'http.1.cpu',
    'http.many.cpu',
    'http.p50',
    'remote.1.cpu',
    'remote.many.cpu',
    'remote.p50',
  ],
};

function overStdio(measure: Measure): Task {
  return {
    ...measure,
    runOn: (server, { sizes, nodeFlags, keep }) =>
      measure.run({
        sizes,
        keep,
        launch: (body, given) => {
          const options = { cwd: tmpdir(), silenceMs: sizes.silenceMs, ...given };
          return withClient(new RawClient([...nodeFlags, server.module], options), body);
        },
      }),
  };
}

function overHttp(measure: HttpMeasure): Task {
  return {
    ...measure,
    runOn: (server, { sizes, nodeFlags, keep }) =>
      measure.run({
        sizes: { ...sizes.http, settleMs: sizes.settleMs },
        keep,
        launch: async (body, given) => {
          const options = { cwd: tmpdir(), silenceMs: sizes.silenceMs, ...given };
          return withClient(await HttpClient.start([...nodeFlags, server.module], options), body);
        },
      }),
  };
}

function withStore(measure: TaskMeasure): Task {
  return {
    ...measure,
    runOn: async ({ name, module }, { sizes, nodeFlags }) => {
      const kind = storeKinds.find((each) => each.name === name);
      if (!kind) throw new Error(`there is no store "${name}"`);
      return kind.open((store) =>
        measure.run({
          sizes,
          store,
          launch: (body, { isDurable = true, ...given } = {}) => {
            const env: Record<string, string> =
              isDurable && store.where !== undefined ? { DURABLE: store.where } : {};
            const { silenceMs } = sizes;
            const options = { cwd: tmpdir(), silenceMs, env, ...given };
            return withClient(new RawClient([...nodeFlags, module], options), body);
          },
        }),
      );
    },
  };
}
