/** One of several processes that share their sessions and the keys that seal request states. */
import { createMcpServer } from 'mcp-actors';
import { redisStores } from 'mcp-actors/redis';
import { serve } from 'mcp-actors/serve';
import { greeter } from './greeter.ts';

const { PORT: port = '3000', REDIS_URL: url = 'redis://127.0.0.1:6379', STATE_KEY } = process.env;
if (STATE_KEY === undefined) throw new Error('Set STATE_KEY: openssl rand -base64 32');

const server = createMcpServer({ ...greeter.definition, stateKeys: [STATE_KEY] });

await serve(server, { http: { port: Number(port), stores: await redisStores({ url }) } });
