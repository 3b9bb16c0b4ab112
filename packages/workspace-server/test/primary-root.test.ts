/** Selection of the project among several client roots. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createMcpServer } from 'mcp-actors';
import type { PrimaryRoot } from 'mcp-actors/roots';
import { testClient } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';
import { workspaceServer } from '../src/workspace-server.ts';

async function clientWith(primaryRoot: PrimaryRoot | undefined, more: object = {}) {
  const directory = await temporaryDirectory({
    'web/index.html': '',
    'api/go.mod': '',
    'api/.claude/skills/deploy/SKILL.md': '---\nname: deploy\ndescription: Deploys\n---\n',
  });
  const { definition } = workspaceServer({
    ...{ cwd: directory, home: '/nobody', version: '1', ...more },
    ...(primaryRoot === undefined ? {} : { primaryRoot }),
  });
  const roots = ['web', 'api'].map((name) => ({
    uri: pathToFileURL(join(directory, name)).href,
    name: `the ${name}`,
  }));
  return { directory, client: await testClient(createMcpServer(definition), { roots }) };
}

test.each<[string, PrimaryRoot | undefined, string]>([
  ['the first by default', undefined, 'web'],
  ['the first on request', 'first', 'web'],
  ['the one of a name', { name: 'the api' }, 'api'],
  ['the first with a marker', { marker: 'go.mod' }, 'api'],
])('primaryRoot selects %s, for tools and skills', async (_, primaryRoot, expected) => {
  const { client, directory } = await clientWith(primaryRoot);
  const { structured } = await client.callTool('workspace_info');
  expect(structured).toMatchObject({ project: { path: join(directory, expected) } });
  const listed = await client.callTool('list_directory', {});
  expect(listed.text).toContain(expected === 'api' ? 'go.mod' : 'index.html');
  const { skills } = await client.request('skills/list');
  expect(skills).toHaveLength(expected === 'api' ? 1 : 0);
  // The other root stays available.
  const other = await client.callTool('list_directory', { root: 'the web' });
  expect(other.text).toContain('index.html');
});

test('primaryRoot that matches no root means no project, with an error that lists the roots', async () => {
  const { client } = await clientWith({ name: 'the docs' });
  const failed = await client.callTool('list_directory', {});
  expect(failed.isError).toBe(true);
  expect(failed.text).toContain('NO_PROJECT');
  expect(failed.text).toContain('"the web"');
});

test('primaryRoot does not affect the directory of a client without roots', async () => {
  const directory = await temporaryDirectory({ 'one.txt': '' });
  const { definition } = workspaceServer({
    ...{ cwd: directory, home: '/nobody', version: '1', primaryRoot: { name: 'the api' } },
  });
  const client = await testClient(createMcpServer(definition));
  expect((await client.callTool('list_directory', {})).text).toContain('one.txt');
});
