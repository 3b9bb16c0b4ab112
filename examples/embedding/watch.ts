/**
 * A plain script that serves stdio and reports events on stderr.
 *
 * npx tsx examples/embedding/watch.ts
 */
import { bufferTime, filter, map } from 'rxjs';
import { createMcpServer, defineTool, stdio } from 'mcp-actors';

const server = createMcpServer({
  name: 'watched',
  version: '1.0.0',
  tools: [defineTool({ name: 'now', description: 'The time.', handler: () => String(new Date()) })],
});

// Shuts the session down and waits for it however this script ends, even by an error.
await using session = server.listen(stdio());

session.state$.subscribe((state) => console.error(`state: ${state}`));
session.roots$.subscribe(({ roots }) => console.error(`roots: ${roots.length}`));
session.events$
  .pipe(filter((event) => event.type === 'session.negotiated'))
  .subscribe(({ client }) => console.error(`client: ${client.info.name}`));
session.traffic$
  .pipe(
    filter(({ kind }) => kind === 'request'),
    map(({ direction, method }) => `${direction} ${method}`),
    bufferTime(100),
    filter((requests) => requests.length > 0),
  )
  .subscribe((requests) => console.error(`requests: ${requests.join(', ')}`));

const { kind } = await session.closed;
console.error(`closed: ${kind}`);
