/** Faults of a storm. */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'redis';
import type { Chance } from '../../test/tooling/chance.ts';
import type { Fleet, NodePlace } from './fleet.ts';
import type { History } from './history.ts';

/** Context of a fault. */
interface Scene {
  readonly fleet: Pick<Fleet, 'redis' | 'nodes'>;
  readonly chance: Chance;
  readonly history: History;
  /** Maximum duration of a fault, ms. */
  readonly longestMs: number;
  /** Settles once every session is served. */
  recovered(): Promise<void>;
}

type Fault = (scene: Scene) => Promise<void>;

const anyNode = ({ chance, fleet: { nodes } }: Scene): NodePlace =>
  chance.shuffled(nodes)[0] as NodePlace;

const lasting = ({ chance, longestMs }: Scene): Promise<void> =>
  delay(chance.between(500, longestMs));

const command = async ({ fleet }: Scene, ...words: string[]): Promise<void> => {
  const client = createClient({ url: fleet.redis.url });
  client.on('error', () => {});
  await client.connect();
  await client.sendCommand(words);
  client.destroy();
};

/** Restarts Redis after a while, with the data on its disk. */
async function restartRedis(scene: Scene, whileDown: () => Promise<void>): Promise<void> {
  await scene.fleet.redis.kill();
  await whileDown();
  await lasting(scene);
  await scene.fleet.redis.start();
}

const faults = {
  'a node is killed': async (scene) => {
    const node = anyNode(scene);
    scene.history.write(`FAULT ${node.name} is killed`);
    await node.end('SIGKILL');
    await lasting(scene);
    await node.launch();
  },
  'a node is stopped': async (scene) => {
    const node = anyNode(scene);
    scene.history.write(`FAULT ${node.name} is stopped`);
    node.stop();
    await lasting(scene);
    node.wake();
  },
  'the nodes are restarted in turn': async ({ fleet, history }) => {
    for (const node of fleet.nodes) {
      history.write(`FAULT ${node.name} is restarted`);
      await node.end('SIGTERM');
      await node.launch();
    }
  },
  'a node is cut off from Redis': async (scene) => {
    const node = anyNode(scene);
    scene.history.write(`FAULT ${node.name} is cut off`);
    node.proxy.cut();
    await lasting(scene);
    node.proxy.heal();
  },
  'a node is cut off from the others': async (scene) => {
    const { way, name } = anyNode(scene);
    const kind = scene.chance.pick(['refused', 'broken', 'lost']);
    scene.history.write(`FAULT what the others send to ${name} is ${kind}`);
    if (kind === 'refused') await way.refuse();
    else if (kind === 'broken') way.cut();
    else way.stall();
    await lasting(scene);
    if (kind === 'refused') await way.accept();
    else way.heal();
  },
  'Redis is restarted with its data': async (scene) => {
    scene.history.write('FAULT Redis is restarted');
    await restartRedis(scene, () => Promise.resolve());
  },
  'Redis is restarted without its data': async (scene) => {
    scene.history.write('FAULT Redis is restarted, empty');
    await restartRedis(scene, () => scene.fleet.redis.forget());
  },
  'Redis is restarted with older data': async (scene) => {
    scene.history.write('FAULT the data of Redis are put aside');
    await scene.fleet.redis.remember();
    await delay(1000);
    scene.history.write('FAULT Redis is restarted with the data that were put aside');
    await restartRedis(scene, () => scene.fleet.redis.forget());
  },
  'Redis is slow': async (scene) => {
    const ms = scene.chance.between(50, 500);
    scene.history.write(`FAULT each way to Redis takes ${ms} ms`);
    for (const { proxy } of scene.fleet.nodes) proxy.slow(ms);
    await lasting(scene);
    for (const { proxy } of scene.fleet.nodes) proxy.heal();
  },
  'Redis is full': async (scene) => {
    scene.history.write('FAULT Redis is full');
    await command(scene, 'CONFIG', 'SET', 'maxmemory', '1mb');
    await lasting(scene);
    await command(scene, 'CONFIG', 'SET', 'maxmemory', '0');
  },
  'the connections of Redis are cut': async (scene) => {
    for (let n = 0; n < 3; n++) {
      scene.history.write('FAULT all connections of Redis are cut');
      for (const { proxy } of scene.fleet.nodes) proxy.breakAll();
      await delay(scene.chance.between(100, 1000));
    }
  },
} satisfies { readonly [name: string]: Fault };

export type FaultName = keyof typeof faults;

/**
 * `calm`: no faults. `clocks apart`: node clocks a minute apart. `mixed`: several faults. `two at a
 * time`: pairs of faults.
 */
export const weathers = [
  'calm',
  'clocks apart',
  ...(Object.keys(faults) as [FaultName, ...FaultName[]]),
  'mixed',
  'two at a time',
] as const;

export type Weather = (typeof weathers)[number];

/** Runs the faults of a weather sequentially; everything is repaired afterwards. */
export async function blow(weather: Weather, scene: Scene): Promise<void> {
  if (weather === 'calm' || weather === 'clocks apart') return;
  const names = Object.keys(faults) as FaultName[];
  if (weather === 'two at a time') return blowPairs(names, scene);
  const chosen = weather === 'mixed' ? scene.chance.shuffled(names).slice(0, 3) : [weather];
  for (const name of chosen) {
    await faults[name](scene);
    scene.history.write(`over: ${name}`);
    await scene.recovered();
    await delay(500);
  }
}

/**
 * Runs two pairs of simultaneous faults. Only one Redis restart at a time, and no kill of a stopped
 * node.
 */
async function blowPairs(names: readonly FaultName[], scene: Scene): Promise<void> {
  for (let pair = 0; pair < 2; pair++) {
    const [one, ...others] = scene.chance.shuffled(names);
    const other = others.find((name) => !(isRestart(name) && isRestart(one as FaultName)));
    const nodes = scene.chance.shuffled(scene.fleet.nodes);
    await Promise.all(
      [one, other].map(async (name, index) => {
        if (!name) return;
        // Each has its own nodes.
        const fleet = { redis: scene.fleet.redis, nodes: nodes.slice(index, index + 1) };
        const isOfAll = name === 'the nodes are restarted in turn' || name.includes('Redis');
        const own = isOfAll ? scene.fleet : fleet;
        await faults[name]({ ...scene, fleet: own, chance: scene.chance.fork() });
        scene.history.write(`over: ${name}`);
      }),
    );
    await scene.recovered();
    await delay(500);
  }
}

/**
 * Faults that would interfere with each other: of the same process, or of the connections to Redis.
 */
const isRestart = (name: FaultName): boolean =>
  name.startsWith('Redis is restarted') ||
  name === 'Redis is full' ||
  name === 'the nodes are restarted in turn' ||
  name === 'a node is killed' ||
  name === 'a node is stopped';
