/** A node of a deployed server: reports its version, and requires input during a call. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { redisStores } from 'mcp-actors/redis';
import { serve } from 'mcp-actors/serve';

const { REDIS_URL: url = '', STATE_KEY = '', VERSION = '' } = process.env;

const version = defineTool({
  name: 'version',
  description: 'Says the version that answers.',
  handler: () => VERSION,
});

const confirm = defineTool({
  name: 'confirm',
  description: 'Asks a person, and says which version has gone on.',
  replay: true,
  handler: async (_, context) => {
    const { action } = await context.elicit({
      message: 'Sure?',
      schema: { type: 'object', properties: {} },
    });
    return `${action} by ${VERSION}`;
  },
});

// Long enough that only a slow machine is late.
const limits = { drainTimeoutMs: 60_000, stallTimeoutMs: 60_000 };
const stores = await redisStores({ url, leaseMs: 120_000, commandTimeoutMs: 60_000 });

await serve(
  createMcpServer({
    name: 'deployed',
    version: VERSION,
    tools: [version, confirm],
    stateKeys: [STATE_KEY],
  }),
  { http: { port: 0, stores }, limits, logLevel: 'info' },
);
