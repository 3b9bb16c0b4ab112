/** What the commands of each page find when the test runs them. */
import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command, launch } from '../e2e/server-process.ts';
import { freePort } from '../tooling/free-port.ts';
import { repository } from './pages.ts';
import type { Scene } from './stage.ts';

const recording = 'test/transcripts/recorded-echo.jsonl';

/** The recording with another answer in it than the one that was given. */
const changedRecording = (): string =>
  readFileSync(join(repository, recording), 'utf8')
    .split('\n')
    .map((line) => (line.includes('"server":') ? line.replace('"text":"hi"', '"text":"ho"') : line))
    .join('\n');

/** A tool that fails, in a session without `report`. */
const failingServer = `import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { initialize, initialized, request } from 'mcp-actors/testing';

function query() {
  throw new Error('no such table: notes');
}

const tools = [defineTool({ name: 'query', description: 'Queries the notes.', handler: () => query() })];
const { transport, peer } = memory();
const session = createMcpServer({ name: 'notes', version: '1.0.0', tools }).listen(transport);
peer.send(initialize(1), initialized, request(3, 'tools/call', { name: 'query' }));
peer.end();
await session.closed;
`;

/** A server as the page on checking has it in mind: a tool that takes its time, and one that names the roots. */
const checkedServer = `import { setTimeout as sleep } from 'node:timers/promises';
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

await serve(
  createMcpServer({
    name: 'checked',
    version: '1.0.0',
    tools: [
      defineTool({
        name: 'sleep',
        description: 'Sleeps.',
        inputSchema: { type: 'object', properties: { seconds: { type: 'number' } } },
        handler: async ({ seconds = 1 }, { signal }) => {
          await sleep(seconds * 1000, undefined, { signal });
          return 'Slept';
        },
      }),
      defineTool({
        name: 'list_roots',
        description: 'Lists the roots.',
        handler: async (_args, context) => JSON.stringify((await context.roots()).roots),
      }),
    ],
  }),
);
`;

/** A whole check takes a minute; these moves try the same command line. */
const shortCheck = `case $1 in check) shift; set -- check --play 'initialize wait initialized wait' "$@" ;; esac
exec "$NODE" "$REPOSITORY/packages/cli/dist/cli.js" "$@"`;

export const scenes: { readonly [page: string]: () => Promise<Scene> } = {
  'README.md': async () => ({ inRepository: true }),
  'docs/examples.md': async () => ({ inRepository: true }),
  'packages/checker/README.md': async () => ({
    files: {
      'package.json': '{"type":"module"}',
      'server.js': checkedServer,
    },
    commands: { 'mcp-actors': shortCheck, uvx: 'exec "$NODE" server.js' },
  }),
  'docs/maintaining/checked-servers.md': async () => ({
    files: {
      'sdk-1.mjs': readFileSync(join(repository, 'examples/checking/sdk-1.mjs'), 'utf8'),
    },
  }),
  'docs/diagnosing.md': async () => {
    const server = launch(command);
    await server.initialize();
    return {
      words: { '8607': String(server.child.pid) },
      // It asks every server of this user's on the machine, and one that is stopped does not answer.
      exits: { 'mcp-actors doctor': [0, 1], 'mcp-actors doctor --json': [0, 1] },
      close: async () => {
        server.end();
        await server.exit;
      },
    };
  },
  'docs/errors.md': async () => ({
    files: { 'package.json': '{"type":"module"}', 'query.js': failingServer },
  }),
  'packages/inspector/README.md': async () => ({ words: { '7300': String(await freePort()) } }),
  'docs/recording.md': async () => ({
    files: { 'changed/bug.jsonl': changedRecording() },
    after: {
      // The page goes on with a recording in which something has happened.
      'mcp-actors --record bug.jsonl': (folder) =>
        copyFile(join(repository, recording), join(folder, 'bug.jsonl')),
    },
  }),
};
