/** Endpoints in this process that share their sessions in a real Redis. */
import type { HttpOptions, ServerFactory } from '../../http/src/index.ts';
import { redisStores } from '../src/redis.ts';
import type { RedisStoresOptions } from '../src/redis.ts';
import { serveHttp } from '../../http/test/serving.ts';

/** How a node asks for a lease that is nowhere. */
export const leaseRequest = {
  address: { url: 'http://node.example/mcp', protocol: 1 },
  removedSinceMs: 0,
} as const;

/** All nodes have it. */
export const stateKeys = [Buffer.alloc(32, 1).toString('base64')];

export interface RedisNodesOptions {
  readonly count: number;
  /** How each node reaches the Redis that they share. */
  stores(): RedisStoresOptions | Promise<RedisStoresOptions>;
  /** What each of them serves. */
  server(node: number): ServerFactory;
  readonly http?: HttpOptions;
}

/** Serves at so many nodes until the test is over. @returns where */
export async function startRedisNodes(options: RedisNodesOptions): Promise<readonly URL[]> {
  const urls: URL[] = [];
  for (let node = 0; node < options.count; node++) {
    const stores = await redisStores({ prefix: 'shared:', ...(await options.stores()) });
    urls.push(await serveHttp(options.server(node), { ...options.http, stores }));
  }
  return urls;
}
