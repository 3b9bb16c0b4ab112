/**
 * The official SDK's client talks to the built command about this very repository, and a person reads what happens.
 *
 *     npm run demo
 */
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { followStates } from './session-states.ts';
import { createStory } from './story.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');
const command = fileURLToPath(new URL('../../packages/cli/dist/cli.js', import.meta.url));
const story = createStory(process.stdout);

if (!existsSync(command)) {
  console.error(`${command} is not built yet: run "npm run build" first`);
  process.exit(2);
}

let roots: readonly string[] = [repository];
const client = new Client(
  { name: 'demo', version: '1.0.0' },
  { capabilities: { roots: { listChanged: true } } },
);
client.setRequestHandler(ListRootsRequestSchema, () => {
  story.tell('server', 'asks for the roots (roots/list)');
  story.tell('client', `lists ${roots.join(', ')}`);
  return { roots: roots.map((path) => ({ uri: pathToFileURL(path).href })) };
});

const transport = new StdioClientTransport({
  command: process.execPath,
  args: [command, '--log-level', 'debug'],
  cwd: repository,
  stderr: 'pipe',
});
const states = followStates(transport.stderr as Readable, story.change);

/** Calls a tool, quotes its answer, and returns its text. */
async function call(name: string, args: { readonly [name: string]: unknown }): Promise<void> {
  story.tell('client', `calls ${name} ${JSON.stringify(args)}`);
  const result = await client.request(
    { method: 'tools/call', params: { name, arguments: { ...args } } },
    CallToolResultSchema,
  );
  const [block] = result.content;
  story.tell('server', result.isError === true ? 'answers with an error' : 'answers');
  story.quote(block?.type === 'text' ? block.text : JSON.stringify(block));
}

story.part('Launch and handshake');
story.tell('client', `starts node ${command} and sends initialize`);
await client.connect(transport);
const server = client.getServerVersion();
story.tell('server', `is ${server?.name} ${server?.version}`);
await states.reached('rootsKnown');

story.part('What project is this, and why this one?');
const { tools } = await client.listTools();
story.tell('server', `has the tools ${tools.map(({ name }) => name).join(', ')}`);
await call('workspace_info', {});

story.part('A search');
const search = { pattern: 'querying.stale', globs: ['src/**/*.ts'], limit: 5 };
await call('search_text', search);

story.part('A file');
await call('read_file', { path: 'package.json', endLine: 8 });

story.part('The roots change in mid-session: from now on, examples/ alone');
roots = [fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '')];
story.tell('client', 'says that its roots have changed (notifications/roots/list_changed)');
await client.sendRootsListChanged();
await call('find_files', { globs: ['demo/**'] });
await call('read_file', { path: `${repository}/package.json` });

story.part('The end: the client closes stdin');
await Promise.all([client.close(), states.reached('closed')]);
story.tell('server', 'has ended by itself');
