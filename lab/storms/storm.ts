/**
 * A storm: clients whose requests go to any of three nodes with one Redis, while things go wrong, and a referee who compares what they
 * see with what docs/http.md promises. Its seed says who does what and what goes wrong; the order in time is the machine's.
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
  /** The longest that a fault lasts, milliseconds. */
  readonly longestMs: number;
}

const sessions = 4;

/** Sessions that are ended meanwhile. */
const doomed = 2;

/** The lease of nodes that are not patient, milliseconds. */
const leaseMs = 3000;

/** Before the faults and after them, milliseconds. */
const quietMs = 1500;

/** A storm is over so long after its faults, milliseconds: no promise takes longer. */
const overMs = 120_000;

/** After the last fault every session is served at every node within this time, milliseconds. */
const recoveryMs = 30_000;

/** @returns what has happened, with what must not have */
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
    // By then every node that knew one of them would have put it back.
    await delay(leaseMs);
    for (const client of clients) await goneForGood(client, fleet, history);
  };

  /** A session that its client ends while faults blow. */
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

/** Nodes give Redis up soon only if something happens to it: on a busy machine they would do so without a reason. */
function patienceIn(weather: Weather): FleetOptions['nodes'] {
  if (weather === 'calm' || weather === 'clocks apart') return 'patient';
  const isOfNodes = weather.startsWith('a node is killed') || weather.startsWith('the nodes are');
  return isOfNodes ? 'mortal' : 'impatient';
}

const isManifold = (weather: Weather): boolean =>
  weather === 'mixed' || weather === 'two at a time';

/** A session that lives is served at every node. */
async function served(client: SessionClient, fleet: Fleet, history: History): Promise<void> {
  for (const node of fleet.nodes) {
    const status = await until(() => client.pingAt(node), [200, 404], history);
    if (status === 200) continue;
    history.accuse(`${client.name} lives, and ${node.name} answers ${status}`);
  }
}

/** A session that was deleted is served at no node. */
async function ended(client: SessionClient, fleet: Fleet, history: History): Promise<void> {
  const status = await until(() => client.delete(), [200, 202, 204, 404], history);
  if (status === undefined) history.accuse(`${client.name} could not be deleted`);
  for (const node of fleet.nodes) {
    const after = await until(() => client.pingAt(node), [200, 404], history);
    if (after !== 404) history.accuse(`${client.name} was deleted, and ${node.name} says ${after}`);
  }
}

/** A session that was deleted does not come back. */
async function goneForGood(client: SessionClient, fleet: Fleet, history: History): Promise<void> {
  for (const node of fleet.nodes) {
    const status = await until(() => client.pingAt(node), [200, 404], history);
    if (status === 404) continue;
    history.accuse(`${client.name} was deleted before, and ${node.name} says ${status}`);
  }
}

/** Asks until the answer is one of these, or too much time has passed. */
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
