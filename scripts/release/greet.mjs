/**
 * Greets the installed command in both eras with the official client, as a host would: `node greet.mjs COMMAND [ARGUMENTS…]`.
 * It is copied into the folder that everything is installed in, and prints a line for each era.
 */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [command, ...args] = process.argv.slice(2);

for (const [era, mode] of Object.entries({ legacy: 'legacy', modern: { pin: '2026-07-28' } })) {
  const client = new Client({ name: 'release', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({ name: 'workspace_info', arguments: {} });
  const server = client.getServerVersion();
  await client.close();
  const names = tools.map(({ name }) => name).join(' ');
  const source = structuredContent?.project?.source;
  console.log(JSON.stringify({ era, version: server?.version, tools: names, source }));
}
