/**
 * What people get wrong, one mistake for each name: `node mistakes.mjs NAME`. Nobody catches what follows. The line that a stack has to
 * name ends with a comment that is its mistake's name. It is run in an empty folder by published.test.ts.
 */
import { fileURLToPath } from 'node:url';
import { createMcpServer, defineTool } from 'mcp-actors';
import { connect, connectAll } from 'mcp-actors/client';
import { serve } from 'mcp-actors/serve';

const tool = (name, handler = () => 'x') =>
  defineTool({ name, description: 'A tool.', inputSchema: { type: 'object' }, handler });
const server = (...tools) => createMcpServer({ name: 'mistaken', version: '1.0.0', tools });

const entry = { command: process.execPath, args: [fileURLToPath(import.meta.url), 'serves'] };
const quiet = { restart: 'none', report: () => {} };

async function called(name, options) {
  const connection = await connect(entry, quiet);
  return connection.callTool(name, {}, options);
}

const mistakes = {
  async serves() {
    const never = tool('never', () => new Promise(() => {}));
    const crash = tool('crash', () => {
      process.stderr.write('a line of a long report\n'.repeat(1000));
      process.exit(3);
    });
    await serve(server(never, crash));
  },
  'two tools of one name'() {
    server(tool('same'), tool('same')); // two tools of one name
  },
  async 'a limit that is none'() {
    await serve(server(), { limits: { maxPending: -1 } }); // a limit that is none
  },
  async 'an unknown tool'() {
    await called('nothing'); // an unknown tool
  },
  async 'a call without an answer'() {
    await called('never', { timeoutMs: 100 }); // a call without an answer
  },
  async 'a call that ends its server'() {
    await called('crash'); // a call that ends its server
  },
  async 'a call after the end'() {
    const connection = await connect(entry, quiet);
    await connection.callTool('crash').catch(() => {});
    while (connection.state.value !== 'failed') await new Promise(setImmediate);
    await connection.callTool('crash'); // a call after the end
  },
  async 'a list that is not there'() {
    const connection = await connect(entry, quiet);
    await connection.listPrompts(); // a list that is not there
  },
  async 'one of many servers'() {
    const servers = await connectAll({ mcpServers: { only: entry } }, quiet);
    await servers.listTools();
    await servers.callTool('only__never', {}, { timeoutMs: 100 }); // one of many servers
  },
  async 'no such command'() {
    await connect({ command: 'no-such-command' }, quiet); // no such command
  },
  async 'a server that is none'() {
    await connect({ command: process.execPath, args: ['no-such-file.mjs'] }, quiet); // a server that is none
  },
  async 'no such file of servers'() {
    await connectAll('no-such-file.json'); // no such file of servers
  },
};

const [name] = process.argv.slice(2);
if (name === undefined) console.log(JSON.stringify(Object.keys(mistakes).slice(1)));
else await mistakes[name]();
