/**
 * A storm: clients send requests to any of three nodes with one Redis during faults, and a referee
 * compares their observations with the guarantees in docs/http.md. The seed determines actions and
 * faults; the timing is the machine's.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Message } from '../../packages/http/test/raw-client.ts';
import { StormActs } from './acts.ts';
import { Chance } from '../../test/tooling/chance.ts';
import { Fleet } from './fleet.ts';
import type { FleetOptions } from './fleet.ts';
import { History } from './history.ts';
import { SessionClient } from './session-client.ts';
import { blow } from './weather.ts';
import type { Weather } from './weather.ts';

export interface StormOptions {
  readonly seed: number;
  readonly weather: Weather;
  /** Maximum duration of a fault, ms. */
  readonly longestMs: number;
}

const sessions = 4;

/** Sessions ended meanwhile. */
const doomed = 2;

/** Lease of short-lived nodes, ms. */
const leaseMs = 3000;

/** Time before and after the faults, ms. */
const quietMs = 1500;

/** Time after the faults by which every guarantee must hold, ms. */
const overMs = 120_000;

/** Time after the last fault by which every node must serve every session, ms. */
const recoveryMs = 30_000;

/** @returns the history with its violations */
export async function storm(options: StormOptions): Promise<History> {
  const { seed, weather } = options;
  const history = new History();
  const chance = new Chance(seed);
  const marks = new Map<string, number>();
  const isCalm = weather === 'calm' || weather === 'clocks apart';
  const fleet = await Fleet.launch({
    clocksMs: weather === 'clocks apart' ? [0, 60_000, -60_000] : [],
    durability:
      isManifold(weather) || weather.startsWith('Redis is restarted') ? 'everything' : 'nothing',
    nodes: patienceIn(weather),
    onMark: (mark) => marks.set(mark, (marks.get(mark) ?? 0) + 1),
  });
  let phase: 'blowing' | 'over' = 'blowing';
  const isOver = () => phase === 'over';
  const clients: SessionClient[] = [];
  const judges: (() => void)[] = [];

  const live = async (index: number): Promise<void> => {
    const own = chance.fork();
    const pushes: Message[] = [];
    const onPush = (message: Message) => pushes.push(message);
    const name = `s${index}`;
    const client = new SessionClient({ name, fleet, history, chance: own, onPush });
    clients.push(client);
    await client.begin();
    const begun = () => clients.filter(({ hasBegun }) => hasBegun);
    const judged = { isCalm, marks, pushes };
    const options = { client, chance: own, history, ...judged, clients: begun };
    const acts = new StormActs(options);
    const lanes = [() => acts.change(), () => acts.call()].map(async (act) => {
      while (!isOver()) await act();
    });
    judges.push(() => acts.judge());
    await Promise.all(lanes);
  };

  const whole = async (): Promise<void> => {
    const lives = Promise.all(Array.from({ length: sessions }, (_, index) => live(index)));
    const ends = Array.from({ length: doomed }, (_, index) => doom(index));
    const blown = (async () => {
      await delay(quietMs);
      await blow(weather, {
        fleet,
        chance: chance.fork(),
        history,
        longestMs: options.longestMs,
        recovered: async () => {
          const begun = clients.filter(({ hasBegun }) => hasBegun);
          await Promise.all(begun.map((client) => served(client, fleet, history)));
        },
      });
      await delay(quietMs);
      phase = 'over';
    })();
    await Promise.all([lives, blown]);
    for (const client of await Promise.all(ends)) await goneForGood(client, fleet, history);
    await Promise.all(clients.map((client) => served(client, fleet, history)));
    await Promise.all(clients.map((client) => ended(client, fleet, history)));
    // By then every node that remembered one of them would have restored it.
    await delay(leaseMs);
    for (const client of clients) await goneForGood(client, fleet, history);
  };

  /** A session ended by its client during faults. */
  const doom = async (index: number): Promise<SessionClient> => {
    const own = chance.fork();
    const onPush = () => {};
    const client = new SessionClient({ name: `d${index}`, fleet, history, chance: own, onPush });
    await client.begin();
    await delay(own.between(0, quietMs + options.longestMs));
    await ended(client, fleet, history);
    return client;
  };

  const over = new AbortController();
  const late = (async () => {
    const untilMs = overMs + 3 * options.longestMs;
    while (history.now < untilMs) await delay(500, undefined, { signal: over.signal });
    return 'late';
  })();
  try {
    if ((await Promise.race([whole(), late])) === 'late') {
      const due = clients.flatMap((client) => [...client.due]);
      history.accuse(`it has no end: ${due.join('; ') || 'no request waits'}`);
    }
  } finally {
    phase = 'over';
    over.abort();
    await late.catch(() => {});
    for (const client of clients) client.leave();
    for (const { name, stderr } of fleet.nodes) history.quote(name, stderr);
    await fleet.close();
  }
  for (const judge of judges) judge();
  return history;
}

/**
 * Use short Redis timeouts only for faults of Redis: on a busy machine they would expire without a
 * reason.
 */
function patienceIn(weather: Weather): FleetOptions['nodes'] {
  if (weather === 'calm' || weather === 'clocks apart') return 'patient';
  const isOfNodes = weather.startsWith('a node is killed') || weather.startsWith('the nodes are');
  return isOfNodes ? 'mortal' : 'impatient';
}

const isManifold = (weather: Weather): boolean =>
  weather === 'mixed' || weather === 'two at a time';

/** Checks that every node serves a live session. */
async function served(client: SessionClient, fleet: Fleet, history: History): Promise<void> {
  for (const node of fleet.nodes) {
    const status = await until(() => client.pingAt(node), [200, 404], history);
    if (status === 200) continue;
    history.accuse(`${client.name} lives, and ${node.name} answers ${status}`);
  }
}

/** Checks that no node serves a deleted session. */
async function ended(client: SessionClient, fleet: Fleet, history: History): Promise<void> {
  const status = await until(() => client.delete(), [200, 202, 204, 404], history);
  if (status === undefined) history.accuse(`${client.name} could not be deleted`);
  for (const node of fleet.nodes) {
    const after = await until(() => client.pingAt(node), [200, 404], history);
    if (after !== 404) history.accuse(`${client.name} was deleted, and ${node.name} says ${after}`);
  }
}

/** Checks that a deleted session does not return. */
async function goneForGood(client: SessionClient, fleet: Fleet, history: History): Promise<void> {
  for (const node of fleet.nodes) {
    const status = await until(() => client.pingAt(node), [200, 404], history);
    if (status === 404) continue;
    history.accuse(`${client.name} was deleted before, and ${node.name} says ${status}`);
  }
}

/** Polls until the response is one of these, or the time is up. */
async function until(
  ask: () => Promise<number | undefined>,
  answers: readonly number[],
  history: History,
): Promise<number | undefined> {
  const deadline = history.now + recoveryMs;
  for (;;) {
    const status = await ask();
    if (status !== undefined && answers.includes(status)) return status;
    if (history.now > deadline) return status;
    await delay(100);
  }
}
