/** What goes wrong in a storm. */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'redis';
import type { Chance } from './chance.ts';
import type { Fleet, NodePlace } from './fleet.ts';
import type { History } from './history.ts';

/** What a fault has to do with. */
interface Scene {
  readonly fleet: Fleet;
  readonly chance: Chance;
  readonly history: History;
  /** The longest that something stays at fault, milliseconds. */
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

/** Restarts Redis after a while, with what it has on disk then. */
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

/** `calm` has none, `clocks apart` has nodes whose times differ by a minute, `mixed` has several. */
export const weathers = [
  'calm',
  'clocks apart',
  ...(Object.keys(faults) as [FaultName, ...FaultName[]]),
  'mixed',
] as const;

export type Weather = (typeof weathers)[number];

/** Runs the faults of a weather, one after the other; all is whole afterwards. */
export async function blow(weather: Weather, scene: Scene): Promise<void> {
  if (weather === 'calm' || weather === 'clocks apart') return;
  const names = Object.keys(faults) as FaultName[];
  const chosen = weather === 'mixed' ? scene.chance.shuffled(names).slice(0, 3) : [weather];
  for (const name of chosen) {
    await faults[name](scene);
    scene.history.write(`over: ${name}`);
    // What two faults at once do to a session is not promised.
    await scene.recovered();
    await delay(500);
  }
}
