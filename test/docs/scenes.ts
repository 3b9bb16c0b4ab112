/** Preconditions of the commands of each page. */
import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launch, workspaceCommand } from '../e2e/server-process.ts';
import { freePort } from '../tooling/free-port.ts';
import { repository } from './pages.ts';
import type { Scene } from './stage.ts';

const recording = 'test/transcripts/recorded-echo.jsonl';

/** The recording with a modified answer. */
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

/** The server assumed by the page on checking: a slow tool, and one that names the roots. */
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

/** A full check takes a minute; these moves test the same command line. */
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
    const server = launch(workspaceCommand);
    await server.initialize();
    return {
      words: { '8607': String(server.child.pid) },
      // It contacts every server of this user on the machine, and a stopped one does not answer.
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
      // The page continues with a recording that has some content.
      'mcp-actors workspace --record bug.jsonl': (folder) =>
        copyFile(join(repository, recording), join(folder, 'bug.jsonl')),
    },
  }),
};
