/**
 * A host in 30 lines: launches the server named by its arguments, prints events, lists the tools
 * and calls the first one without required arguments.
 *
 * npx tsx examples/client/host.ts npx -y @modelcontextprotocol/server-filesystem .
 */
import { pathToFileURL } from 'node:url';
import { connect } from 'mcp-actors/client';

const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error('Usage: host.ts COMMAND [ARGUMENTS…]');

// #region connect
await using server = await connect(
  { command, args },
  {
    roots: [{ uri: pathToFileURL(process.cwd()).href, name: 'here' }],
    elicit: ({ message }) => {
      console.log(`The server asks: ${message}`);
      return { action: 'decline' };
    },
  },
);
server.state$.subscribe(({ value }) => console.log(`state: ${value}`));
console.log(`${server.server?.info.name} speaks ${server.server?.revision}`);

const tools = await server.listTools();
// #endregion
for (const { name, description = '' } of tools) console.log(`- ${name}: ${description}`);
const first = tools.find(({ inputSchema: { required } }) => [required ?? []].flat().length === 0);
if (first) {
  const onProgress = ({ progress }: { progress: number }) => console.log(`progress: ${progress}`);
  const { content } = await server.callTool(first.name, {}, { timeoutMs: 10_000, onProgress });
  for (const block of content) console.log(block.type === 'text' ? block.text : `(${block.type})`);
}
