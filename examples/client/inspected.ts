/**
 * A host with a live page: prints the URL of a page with a row for each server.
 *
 * npx tsx examples/client/inspected.ts mcp.json
 */
import { connectAll } from 'mcp-actors/client';
import { inspectPage } from '@mcp-actors/inspector';

const [, , file = 'mcp.json'] = process.argv;
await using page = await inspectPage();
console.error(`Open ${page.url} to see the connections`);

await using servers = await connectAll(file, { watchers: [page.watcher] });
const tools = await servers.listTools();
console.log(tools.map(({ name }) => name).join('\n'));
