/**
 * A server whose machines appear in XState's official inspector while a receiver runs on this
 * machine.
 */
import { inspectStately } from '@mcp-actors/inspector';
import { serve } from 'mcp-actors/serve';
import { server } from '../quickstart/server.ts';

const stately = await inspectStately({ url: 'ws://127.0.0.1:8080' });
await serve(server, {
  watchers: [stately.watcher],
  beforeExit: () => stately.close(),
});
