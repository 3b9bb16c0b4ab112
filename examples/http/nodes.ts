/** One of several processes that share their sessions. */
import { redisStores } from 'mcp-actors/redis';
import { serve } from 'mcp-actors/serve';
import { greeter } from './greeter.ts';

const { PORT: port = '3000', REDIS_URL: url = 'redis://127.0.0.1:6379' } = process.env;

await serve(greeter, { http: { port: Number(port), stores: await redisStores({ url }) } });
