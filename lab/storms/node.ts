/** Node of a storm: serves over HTTP and shares its sessions in Redis. */
import { setTimeout as delay } from 'node:timers/promises';
import { ToolError, createMcpServer, defineResourceTemplate, defineTool } from 'mcp-actors';
import { redisStores } from 'mcp-actors/redis';
import { serve } from 'mcp-actors/serve';
import { setClockOff } from './clock-offset.ts';

const { REDIS_URL: url = '', LEASE_MS: leaseMs = '', STATE_KEY: stateKey = '' } = process.env;
setClockOff(Number(process.env['CLOCK_OFFSET_MS'] ?? 0));

const text = { type: 'string' } as const;

/** Prints a line per execution, so that the launcher can count them. */
const mark = defineTool({
  name: 'mark',
  description: 'Writes down that it ran.',
  inputSchema: { type: 'object', properties: { mark: text }, required: ['mark'] },
  handler: ({ mark }) => {
    process.stdout.write(`${mark}\n`);
    return mark;
  },
});

const say = defineTool({
  name: 'say',
  description: 'Logs the text once at each level.',
  inputSchema: { type: 'object', properties: { text }, required: ['text'] },
  handler: ({ text }, { log }) => {
    log.debug(text);
    log.info(text);
    log.notice(text);
    log.warning(text);
    log.error(text);
    log.critical(text);
    log.alert(text);
    log.emergency(text);
    return text;
  },
});

const roots = defineTool({
  name: 'roots',
  description: "Gives the client's roots.",
  handler: async (_args, context) => {
    const { roots, status, failure } = await context.roots();
    // Stale roots do not prove what the client has now.
    if (status !== 'known') throw new ToolError(`The roots are ${status}: ${failure?.code}`);
    return roots.map(({ uri }) => uri).join(' ');
  },
});

const count = defineTool({
  name: 'count',
  description: 'Counts to a number, and logs each step.',
  inputSchema: { type: 'object', properties: { to: { type: 'integer' } }, required: ['to'] },
  handler: async ({ to }, { log, signal }) => {
    for (let step = 1; step <= to; step++) {
      log.emergency(step);
      await delay(10, undefined, { signal });
    }
    return String(to);
  },
});

const ask = defineTool({
  name: 'ask',
  description: 'Asks the person, and gives the answer.',
  inputSchema: { type: 'object', properties: { question: text }, required: ['question'] },
  handler: async ({ question }, context) => {
    const schema = { type: 'object', properties: { answer: text }, required: ['answer'] } as const;
    const answered = await context.elicit({ message: question, schema });
    return answered.action === 'accept' ? answered.content.answer : answered.action;
  },
});

const server = createMcpServer({
  name: 'storm',
  version: '1.0.0',
  tools: [mark, say, roots, count, ask],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'storm://{name}',
      name: 'weather',
      read: (uri) => uri,
    }),
  ],
  logging: { level: 'debug' },
  stateKeys: [stateKey],
});

server.tools.add(
  defineTool({
    name: 'touch',
    description: 'Says that a resource was updated.',
    inputSchema: { type: 'object', properties: { uri: text }, required: ['uri'] },
    handler: ({ uri }) => {
      server.resourceUpdated(uri);
      return uri;
    },
  }),
);

const stores = await redisStores({
  url,
  leaseMs: Number(leaseMs),
  commandTimeoutMs: Number(process.env['COMMAND_TIMEOUT_MS']),
});
// Every log message counts here.
const session = { limits: { maxLogsPerSecond: 100_000 } };
const node = { url: process.env['NODE_URL'] ?? '' };
await serve(server, { http: { port: 0, stores, node, session } });
