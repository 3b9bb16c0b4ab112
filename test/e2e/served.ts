/** A server over `serve` that leaves a timer running and fails in every way. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

setInterval(() => {}, 60_000);

const tools = [
  defineTool({
    name: 'fail',
    description: 'Throws',
    handler: () => {
      throw new Error('no such table', { cause: new Error('the disk is full') });
    },
  }),
  defineTool({
    name: 'crash',
    description: 'Throws where nobody can catch it',
    handler: () => {
      setImmediate(() => {
        throw new Error('in no call');
      });
      return 'soon';
    },
  }),
  defineTool({
    name: 'finish',
    description: 'Gives its result once the process is told to end',
    handler: (_, { log }) =>
      new Promise<string>((resolve) => {
        process.once('SIGTERM', () => resolve('drained'));
        log.info('waiting');
      }),
  }),
];

const beforeExit =
  process.argv[2] === 'hang'
    ? () => new Promise<void>(() => {})
    : () => Promise.resolve(console.error('{"event":"flushed"}'));

const server = createMcpServer({ name: 'served', version: '1.0.0', tools, logging: {} });

const port = /^http:(\d+)$/.exec(process.argv[2] ?? '')?.[1];
if (port !== undefined) await serve(server, { http: { port: Number(port) } });

await serve(server, { beforeExit, logLevel: process.argv[2] === 'talk' ? 'info' : 'warning' });
