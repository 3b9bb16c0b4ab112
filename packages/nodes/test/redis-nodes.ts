/** In-process endpoints that share sessions in a real Redis. */
import type { HttpOptions, ServerFactory } from '../../http/src/index.ts';
import { redisStores } from '../src/redis.ts';
import type { RedisStoresOptions } from '../src/redis.ts';
import { serveHttp } from '../../http/test/serving.ts';

/** Lease request of a node without an address. */
export const leaseRequest = {
  address: { url: 'http://node.example/mcp', protocol: 1 },
  removedSinceMs: 0,
} as const;

/** Key shared by all nodes. */
export const stateKeys = [Buffer.alloc(32, 1).toString('base64')];

export interface RedisNodesOptions {
  readonly count: number;
  /** Connection options of each node. */
  stores(): RedisStoresOptions | Promise<RedisStoresOptions>;
  /** Server of each node. */
  server(node: number): ServerFactory;
  readonly http?: HttpOptions;
}

/**
 * Starts the nodes until the test ends.
 *
 * @returns their URLs
 */
export async function startRedisNodes(options: RedisNodesOptions): Promise<readonly URL[]> {
  const urls: URL[] = [];
  for (let node = 0; node < options.count; node++) {
    const stores = await redisStores({ prefix: 'shared:', ...(await options.stores()) });
    urls.push(await serveHttp(options.server(node), { ...options.http, stores }));
  }
  return urls;
}
