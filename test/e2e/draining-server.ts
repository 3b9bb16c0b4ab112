/** An HTTP server whose calls outlive the SIGTERM that stops it. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const tool = (
  name: string,
  run: (drained: Promise<void>, signal: AbortSignal) => Promise<string>,
) =>
  defineTool({
    name,
    description: 'Notifies its client when it begins and when the process is to end.',
    handler: (_, context) => {
      const drained = new Promise<void>((resolve) => {
        process.once('SIGTERM', () => {
          context.notify('test/draining');
          resolve();
        });
      });
      context.notify('test/begun');
      return run(drained, context.signal);
    },
  });

const tools = [
  tool('finish', (drained) => drained.then(() => 'finished')),
  tool('fail', (drained) =>
    drained.then(() => {
      throw new Error('failed');
    }),
  ),
  tool(
    'hang',
    (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  ),
];

await serve(createMcpServer({ name: 'draining', version: '1.0.0', tools }), {
  http: { port: 0, limits: { retryMs: 1234 } },
  limits: { drainTimeoutMs: Number(process.env['DRAIN_MS']) },
  logLevel: 'info',
});
