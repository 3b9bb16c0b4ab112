/**
 * The lab over HTTP, both eras on one endpoint: http://127.0.0.1:PORT/mcp
 *
 * PORT=3000 npx tsx examples/lab/http.ts --help
 */
import { defaultHttpLimits } from 'mcp-actors/http';
import { serve } from 'mcp-actors/serve';
import { laboratory } from './laboratory.ts';
import { readFlags } from './flags.ts';
import type { Flags } from './flags.ts';

const flags = readFlags(process.argv.slice(2), process.env);
switch (flags.kind) {
  case 'help':
    console.log(flags.text);
    break;
  case 'refused':
    console.error(`${flags.message}; see --help`);
    process.exitCode = 64;
    break;
  case 'serve':
    await serve(laboratory, {
      http: { ...flags.http, ...(await storesAt(flags)) },
      limits: flags.limits,
    });
}

/**
 * Stores shared with other processes, if any. The Redis client has several hundred files and is
 * loaded only if needed.
 */
async function storesAt({ redis, http }: Extract<Flags, { kind: 'serve' }>) {
  if (redis === undefined) return {};
  const { redisStores } = await import('mcp-actors/redis');
  const { sessionIdleTimeoutMs: idleMs } = { ...defaultHttpLimits, ...http.limits };
  return { stores: await redisStores({ ...redis, limits: { idleMs } }) };
}
