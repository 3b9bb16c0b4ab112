/**
 * Costs of a bridge: startup, each call, each idle session. The floor is measured without a bridge
 * in the same round.
 */
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { areNamed, initialize, isIntroduction, listTools } from '../conversation.ts';
import { HttpClient } from '../http/http-client.ts';
import type { Session } from '../http/http-client.ts';
import { load } from '../http/load.ts';
import { echoes, exchange } from '../measures/exchange.ts';
import { latencies } from '../measures/latency.ts';
import { KiB, quantile } from '../measures/measure.ts';
import type { Metric, Sample, Sizes } from '../measures/measure.ts';
import { buildServers } from '../prepare.ts';
import { RawClient } from '../raw-client.ts';
import type { Conduct, Task } from '../run.ts';
import { withClient } from '../server-process.ts';
import { floorName, ourName, stdioServers } from '../servers.ts';
import type { Server } from '../servers.ts';
import { bridgesOf, floors, startOf } from './bridges.ts';
import type { Way } from './bridges.ts';

/** Upper limits we set ourselves. */
interface Bars {
  /** Relative to the floor's CPU time. */
  readonly cpu?: number;
  /** In addition to the floor's median time, µs. */
  readonly added?: number;
  /** In addition to the floor's startup time, ms. */
  readonly start?: number;
}

/** Silence after which a bridge counts as hung, ms. Includes starting a server. */
const silenceMs = 15_000;

const known = areNamed('echo');
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

function metricsOf(way: Way, title: string, many: number, { cpu, added, start }: Bars) {
  const cost = (key: string, what: string, unit: Metric['unit'], atMost?: number): Metric => ({
    ...{ key: `${way}.${key}`, title: `${title}: ${what}`, unit, isRatio: true },
    ...(atMost === undefined ? {} : { atMost }),
  });
  const above = (key: string, of: string, what: string, unit: Metric['unit'], atMost?: number) => ({
    ...cost(key, what, unit, atMost),
    isRatio: false,
    aboveFloor: `${way}.${of}`,
  });
  return [
    cost('1.cpu', 'a call, 1 in flight, CPU', 'µs', cpu),
    cost('many.cpu', `a call, ${many} in flight, CPU`, 'µs', cpu),
    cost('p50', 'a call, 1 in flight, p50', 'µs'),
    above('added', 'p50', 'of that, added', 'µs', added),
    cost('start', 'start to the initialize reply', 'ms'),
    above('start.added', 'start', 'of that, added', 'ms', start),
  ];
}

/** Requests in flight: over stdio, and over HTTP with a connection each. */
const windows = { stdio: 256, http: 16 };

export const bridgedCalls: readonly Task[] = [
  callsTask('stdio', 'stdio to stdio', { cpu: 1.5, added: 60, start: 80 }),
  callsTask('http', 'HTTP to stdio', { added: 150, start: 80 }),
  callsTask('remote', 'stdio to HTTP', {}),
];

function callsTask(way: Way, title: string, bars: Bars): Task {
  const many = windows[way === 'http' ? 'http' : 'stdio'];
  return {
    name: way,
    only: [floorName, ...bridgesOf(way)],
    metrics: metricsOf(way, title, many, bars),
    runOn: async (server, conduct) => {
      const measured = await callsOf(way, server, conduct);
      return Object.fromEntries(
        Object.entries(measured).map(([key, value]) => [`${way}.${key}`, value]),
      );
    },
  };
}

/** The baseline over stdio is the floor over stdio; over HTTP, the same server listening itself. */
async function callsOf(way: Way, server: Server, conduct: Conduct): Promise<Sample> {
  const isFloor = server.name === floorName;
  if (way === 'stdio') {
    const { args } = isFloor
      ? { args: [floors.stdio] }
      : await startOf(way, server, [floors.stdio]);
    return callsOverStdio(args, conduct);
  }
  if (isFloor) return callsOverHttp([floors.http], undefined, conduct);
  if (way === 'http') {
    const { args, url } = await startOf(way, server, [floors.stdio]);
    return callsOverHttp(args, url, conduct);
  }
  return withFloor(async (url) => {
    const { args } = await startOf(way, server, [url]);
    return callsOverStdio(args, { ...conduct, sizes: fewer(conduct.sizes) });
  });
}

/** One HTTP call takes as long as several over stdio. */
function fewer(sizes: Sizes): Sizes {
  const [warmUp, sequential, messages] = [sizes.warmUp, sizes.sequential, sizes.messages].map(
    (count) => Math.ceil(count / 4),
  ) as [number, number, number];
  return { ...sizes, warmUp, sequential, messages };
}

/** Runs the floor over HTTP for the duration of `body`. */
export async function withFloor<T>(body: (url: string) => Promise<T>): Promise<T> {
  const client = await HttpClient.start([floors.http], { cwd: tmpdir(), silenceMs });
  return withClient(client, () => body(client.url));
}

async function greet(client: RawClient): Promise<number> {
  await client.request(initialize, isIntroduction);
  const { receivedAt } = client;
  client.write([initialized]);
  await client.request(listTools, known);
  return receivedAt;
}

function callsOverStdio(
  args: readonly string[],
  { sizes, nodeFlags }: Conduct,
  cpuMs = (client: RawClient): number => client.cpuMs,
): Promise<Sample> {
  const { warmUp, sequential, messages } = sizes;
  const launchedAt = performance.now();
  const launched = new RawClient([...nodeFlags, ...args], { cwd: tmpdir(), silenceMs });
  return withClient(launched, async (client) => {
    const start = (await greet(client)) - launchedAt;
    const cpuOf = async (count: number, window: number) => {
      const before = cpuMs(client);
      await exchange(client, echoes, count, window);
      return ((cpuMs(client) - before) * 1000) / count;
    };
    await cpuOf(warmUp, windows.stdio);
    const p50 = quantile(await latencies(client, echoes, sequential), 0.5);
    return {
      start,
      p50,
      '1.cpu': await cpuOf(sequential, 1),
      'many.cpu': await cpuOf(messages, windows.stdio),
    };
  });
}

async function callsOverHttp(
  args: readonly string[],
  url: string | undefined,
  { sizes, nodeFlags }: Conduct,
): Promise<Sample> {
  const launchedAt = performance.now();
  const options = { cwd: tmpdir(), silenceMs, ...(url === undefined ? {} : { url }) };
  return withClient(await HttpClient.start([...nodeFlags, ...args], options), async (client) => {
    const control = await client.connect();
    const session = await client.begin(control);
    const start = client.receivedAt - launchedAt;
    await client.tell(control, session, initialized);
    const times: number[] = [];
    const one = [{ connection: control, session, onAnswer: (ms: number) => times.push(ms) }];
    const many = (await client.connections(windows.http)).map((connection) => ({
      connection,
      session,
    }));
    const { echoes: few, messages, warmUp } = sizes.http;
    await load(client, echoes, Math.ceil(warmUp / 2), many);
    const alone = await load(client, echoes, few, one);
    const together = await load(client, echoes, Math.ceil(messages / 2), many);
    return {
      start,
      p50: quantile(times, 0.5) * 1000,
      '1.cpu': (alone.cpuMs * 1000) / few,
      'many.cpu': (together.cpuMs * 1000) / Math.ceil(messages / 2),
    };
  });
}

/**
 * Cost of two hops of ours over one: our server behind the bridge, with all processes counted,
 * against the same server alone.
 */
export const oursBehind: Task = {
  name: 'ours',
  only: [ourName],
  metrics: ['1', 'many'].map((key) => ({
    key: `ours.${key}`,
    title: `our server behind it to that server alone, ${key === '1' ? 1 : windows.stdio} in flight, CPU of all processes`,
    unit: 'ratio',
    isRatio: false,
    atMost: 2.2,
  })),
  runOn: async (bridge, conduct) => {
    const ours = stdioServers.filter(({ name }) => name === ourName);
    await buildServers(ours);
    const server = ours.map(({ module }) => module);
    const whole = (client: RawClient) => client.familyCpuMs;
    const alone = await callsOverStdio(server, conduct, whole);
    const { args } = await startOf('stdio', bridge, server);
    const behind = await callsOverStdio(args, conduct, whole);
    const ratio = (key: string) => (behind[key] ?? Number.NaN) / (alone[key] ?? Number.NaN);
    return { 'ours.1': ratio('1.cpu'), 'ours.many': ratio('many.cpu') };
  },
};

/** Each session has its own server process. */
const resting = 20;

export const sessions: Task = {
  name: 'sessions',
  only: bridgesOf('http'),
  metrics: [
    {
      key: 'sessions.heap',
      title: 'HTTP to stdio: live heap per idle session',
      unit: 'KiB',
      isRatio: false,
      atMost: 48,
    },
  ],
  runOn: async (bridge, { sizes: { settleMs } }) => {
    const { args, url } = await startOf('http', bridge, [floors.stdio]);
    const options = { cwd: tmpdir(), silenceMs, url, heapProbe: true };
    return withClient(await HttpClient.start(args, options), async (client) => {
      const control = await client.connect();
      const rest = async () => {
        const come: Session[] = [];
        while (come.length < resting) {
          const session = await client.begin(control);
          await client.tell(control, session, initialized);
          come.push(session);
        }
        return come;
      };
      const comeAndGo = async () => {
        const come = await rest();
        for (const session of come) await client.end(control, session);
      };
      const live = async () => {
        // Processes of ended sessions may still exist.
        await delay(Math.max(settleMs, 1_000));
        return client.liveHeapBytes();
      };
      await comeAndGo();
      await comeAndGo();
      // Code compiled once and shared tables do not belong to a session.
      await rest();
      const before = await live();
      await rest();
      return { 'sessions.heap': ((await live()) - before) / KiB / resting };
    });
  },
};
