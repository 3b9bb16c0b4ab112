/** A server whose machines XState's official inspector shows, while a receiver of it runs on this machine. */
import { inspectStately } from '@mcp-actors/inspector';
import { serve } from 'mcp-actors/serve';
import { server } from '../quickstart/server.ts';

const stately = await inspectStately({ url: 'ws://127.0.0.1:8080' });
await serve(server, {
  watchers: [stately.watcher],
  beforeExit: () => stately.close(),
});
